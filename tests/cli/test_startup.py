"""What a start prints: five lines, one of which reports that it is ready."""

import threading
from pathlib import Path

import pytest

from service.cli import serving
from service.cli.data_directory import OF_ROOT, default_data_dir
from service.cli.running import log_level
from service.cli.serving import database_of, mail_of, open_to_others, report_ready
from service.config.deployment import notes, problems, refuse_unsafe
from service.config.loading import load
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.terminal.output import OutputLost
from service.version import VERSION
from tests.acceptance.processes import Settings, environment

PAIR = {"tls.certificate": "certificate.pem", "tls.key": "key.pem"}
URL = "http://127.0.0.1:8080"


def config_of(settings: Settings) -> Config:
    return load(None, {name: value for name, value in environment(settings).items() if name.startswith("CATALOG__")})


def test_a_start_prints_version_database_mail_addresses_and_the_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    urls = [URL, "https://127.0.0.1:8443"]
    report_ready(config_of({"tls.bind": "127.0.0.1:8443", **PAIR}), Path("/srv/data"), urls, browse=False)
    assert capsys.readouterr().out.splitlines() == [
        f"Catalog and Sponsorship Service {VERSION}, data directory /srv/data",
        "database: the embedded Postgres, in the data directory",
        f"mail: not sent, because mail.smtp_url is empty; read it at {URL}/dev/outbox",
        f"listening on {URL}",
        "listening on https://127.0.0.1:8443",
        f"open {URL} in a browser, or {URL}/docs for the API; Ctrl-C stops the service",
    ]


def test_an_address_that_stands_for_many_is_said_to_be_open() -> None:
    config = config_of({"server.bind": "0.0.0.0:80, [::]:80,127.0.0.1:81", "tls.bind": "[::]:443", **PAIR})
    urls = ["http://127.0.0.1:80", "http://[::1]:80", "http://127.0.0.1:81", "https://[::1]:443"]
    many = "is open to other machines: it listens on every"
    assert open_to_others(config, urls) == [
        f"http://127.0.0.1:80 {many} IPv4 address of this one",
        f"http://[::1]:80 {many} IPv6 address of this one",
        f"https://[::1]:443 {many} IPv6 address of this one",
    ]


def test_no_password_is_shown() -> None:
    config = config_of(
        {"database.url": "postgresql://user:pa%40ss@db.example.com:5433/catalog", "mail.smtp_url": "smtp://u:pw@mx:25"}
    )
    assert database_of(config) == "Postgres at db.example.com:5433"
    assert mail_of(config, URL) == "sent through mx:25"
    socket = config_of({"database.url": "postgresql://user:pw@/catalog?host=/run/postgresql"})
    assert database_of(socket) == "Postgres at /run/postgresql"


@pytest.mark.parametrize("setting", [{"server.bind": "0.0.0.0:8080"}, {"server.base_url": "https://example.com"}])
def test_the_outbox_is_named_only_where_it_can_be_seen(setting: Settings) -> None:
    assert mail_of(config_of(setting), URL) == "not sent, because mail.smtp_url is empty; codes are in the log"


def test_a_start_goes_on_if_nobody_reads_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object, **__: object) -> None:
        raise OutputLost("cannot write the output")

    discarded: list[bool] = []
    monkeypatch.setattr("builtins.print", lost)
    monkeypatch.setattr(serving, "discard_output", lambda: discarded.append(True))
    report_ready(config_of({}), Path("/srv/data"), [URL], browse=False)
    assert discarded == [True]


@pytest.mark.parametrize("found", [True, False])
def test_the_browser_opens_at_the_base_url_and_its_absence_is_one_line(
    found: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    def open_page(page: str) -> bool:
        opened.append(page)
        return found

    monkeypatch.setattr(serving, "open_page", open_page)
    config = config_of({"server.base_url": "http://localhost:8080"})
    report_ready(config, Path("/srv/data"), [URL], browse=True)
    for thread in threading.enumerate():
        if thread.name == serving.BROWSER_THREAD:
            thread.join(timeout=10)
    assert opened == ["http://localhost:8080"]
    line = "no browser was found here: open http://localhost:8080 yourself\n"
    assert capsys.readouterr().err == ("" if found else line)


@pytest.mark.parametrize(
    ("configured", "everything", "level"),
    [
        ("info", False, "warning"),
        ("info", True, "info"),
        ("debug", False, "debug"),
        ("error", False, "error"),
        ("warning", True, "warning"),
    ],
)
def test_a_command_logs_problems_only_unless_more_is_asked_for(configured: str, everything: bool, level: str) -> None:
    assert log_level(configured, everything=everything) == level


def test_an_installation_keeps_its_data_with_the_user_and_root_where_postgres_can_enter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert default_data_dir() == Path("data")
    monkeypatch.setattr("service.cli.data_directory.INSTALLED", True)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1_000)
    assert default_data_dir() == tmp_path / "catalog-service"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert default_data_dir() == OF_ROOT


def test_a_start_and_doctor_refuse_a_mail_server_that_cannot_be_read() -> None:
    config = config_of({"mail.smtp_url": "mail.example.com"})
    words = "mail.smtp_url is not valid: it must begin with smtp:// or smtps://"
    assert problems(config) == [words]
    with pytest.raises(ConfigError, match=words):
        refuse_unsafe(config)


@pytest.mark.parametrize(
    ("settings", "public"),
    [
        ({"server.base_url": "https://ads.example.com"}, True),
        ({"server.base_url": "https://ads.example.com", "server.ops_bind": "127.0.0.1:9090"}, False),
        ({"server.base_url": "http://localhost:8080"}, False),
        ({}, False),
    ],
)
def test_doctor_says_that_metrics_are_public(settings: Settings, public: bool) -> None:
    assert [note.partition(" ")[0] for note in notes(config_of(settings))] == public * [
        "https://ads.example.com/metrics"
    ]


def test_a_byte_order_mark_before_a_configuration_is_ignored(tmp_path: Path) -> None:
    file, secret = tmp_path / "service.toml", tmp_path / "name"
    file.write_text("[mail]\nsender = 'ads@example.com'\n", encoding="utf-8-sig")
    secret.write_text("Ads GmbH\n", encoding="utf-8-sig")
    config = load(file, {"CATALOG__BILLING__SELLER_NAME__FILE": str(secret)})
    assert (config.mail.sender, config.billing.seller_name) == ("ads@example.com", "Ads GmbH")
