"""The service refuses to start with one clear line that names the cause, and exit code 2."""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from actors.events.servers import ServerReport
from service.cli.doctor import check_worker, too_few_connections
from service.cli.main import main
from service.config.deployment import problems
from service.config.loading import load
from tests.acceptance.postgres import PostgresServer, free_port, started
from tests.acceptance.processes import SECRET, Settings, command, complaint, environment, run, serving
from tests.certificates import make_certificate
from tests.slow import SLOW, smoke

pytestmark = pytest.mark.usefixtures("own_logging")

SERVE = ("serve", "--bind", "127.0.0.1:0")
PUBLIC = {
    "SERVER__BASE_URL": "https://catalog.example.com",
    "SERVER__TRUSTED_PROXIES": "127.0.0.1",
    "MAIL__SMTP_URL": "smtp://127.0.0.1:25",
}
IN_LIVE_MODE = {
    "BILLING__MODE": "live",
    "BILLING__STRIPE_SECRET_KEY": "sk_live_x",
    "BILLING__STRIPE_WEBHOOK_SECRET": "whsec_x",
}
PASSWORD = "a-password-that-must-not-be-shown"
TAXED = {"BILLING__SELLER_NAME": "Example Media", "BILLING__TAX_PERCENT": "20"}

Refusal = tuple[Settings, str]

A_BIND = "must be HOST:PORT, such as 127.0.0.1:8080"
NO_NETWORK = "events.exempt_networks.0: must be an IP network such as 10.0.0.0/8"

SETTINGS: dict[str, Refusal] = {
    "unknown setting": ({"tiers.anonymous.hourly": 3}, "unknown setting tiers.anonymous.hourly in the environment"),
    "unknown section": ({"weather.city": "Oslo"}, "unknown setting weather in the environment"),
    "section as a value": ({"tiers.anonymous": 3}, "tiers.anonymous in the environment is a section, not a value"),
    "no number": ({"keyless.per_minute": "many"}, "keyless.per_minute: "),
    "not positive": ({"mint.per_hour": 0}, "mint.per_hour: "),
    "no contact": ({"server.security_contact": "the office"}, "server.security_contact: must be an email address"),
    "no network for webhooks": ({"webhooks.allow_networks": '["here"]'}, "webhooks.allow_networks"),
    "few deliveries": ({"webhooks.sends": 1}, "webhooks.sends: "),
    "a long delivery": ({"webhooks.timeout_seconds": 31}, "webhooks.timeout_seconds: "),
    "pauses beyond the end": (
        {"webhooks.retry_max_minutes": 2_000, "webhooks.retry_days": 1},
        "webhooks.retry_max_minutes (2000) must be at most webhooks.retry_days in minutes (1440)",
    ),
    "retries beyond the deliveries": (
        {"webhooks.retry_days": 30},
        "webhooks.retry_days (30) must be below retention.webhook_deliveries_days (30)",
    ),
    "no address": ({"server.bind": "everywhere"}, f"server.bind: {A_BIND}"),
    "no address for operators": ({"server.ops_bind": "9090"}, f"server.ops_bind: {A_BIND}"),
    "no address for TLS": ({"tls.bind": "443"}, f"tls.bind: {A_BIND}"),
    "a database of another kind": (
        {"database.url": "mysql://127.0.0.1/catalog"},
        "database.url: must begin with postgresql:// or postgres://",
    ),
    "a base with a path": (
        {"server.base_url": "https://example.com/catalog"},
        "server.base_url: must be http:// or https:// and a host, without a path",
    ),
    "no origin for agents": (
        {"server.mcp_origins": '["https://agent.example.com/"]'},
        "server.mcp_origins.0: must be http:// or https:// and a host, without a path",
    ),
    "no port for operators": ({"server.ops_bind": "127.0.0.1:99999"}, "server.ops_bind: there is no port above 65535"),
    "half of TLS": ({"tls.bind": "127.0.0.1:0"}, "tls: bind, certificate and key belong together: all three or none"),
    "TLS without a certificate": (
        {"tls.bind": "127.0.0.1:0", "tls.certificate": "/nowhere", "tls.key": "/nowhere"},
        "tls.certificate: cannot read /nowhere: No such file or directory",
    ),
    "TLS without a port": (
        {"tls.bind": "127.0.0.1:99999", "tls.certificate": "/nowhere", "tls.key": "/nowhere"},
        "tls.bind: there is no port above 65535, as in 127.0.0.1:99999",
    ),
    "no port": ({"server.bind": "127.0.0.1:99999"}, "there is no port above 65535, as in 127.0.0.1:99999"),
    "a public service without mail": (
        {"server.base_url": "https://catalog.example.com"},
        "server.base_url is public (https://catalog.example.com), and mail.smtp_url is empty",
    ),
    "live billing without mail": (
        {"billing.mode": "live", "billing.stripe_secret_key": "sk_live_x", "billing.stripe_webhook_secret": "whsec_x"},
        'billing.mode is "live", and mail.smtp_url is empty',
    ),
    "live billing with a key for tests": (
        {"billing.mode": "live", "billing.stripe_secret_key": "sk_test_x", "billing.stripe_webhook_secret": "whsec_x"},
        "billing.stripe_secret_key must begin with sk_live_ or rk_live_ in live mode",
    ),
    "tests with a live key": (
        {"billing.stripe_secret_key": "rk_live_x"},
        "billing.stripe_secret_key must begin with sk_test_ or rk_test_ in test mode",
    ),
    "a seller on two lines": ({"billing.seller_name": "Example\nMedia"}, "billing.seller_name: must be one line"),
    "a seller at a long address": ({"billing.seller_address": "\n" * 8}, "billing.seller_address: must have at most 8"),
    "a tax id of many characters": ({"billing.seller_tax_id": "1" * 201}, "billing.seller_tax_id: must be one line"),
    "a version of terms that have no address": ({"site.terms_version": "2"}, "site.terms_version needs site.terms_url"),
    "terms at no address": ({"site.terms_url": "/terms"}, "site.terms_url: must begin with http:// or https://"),
    "a link that is no address": (
        {"site.links": '[{"label": "Imprint", "url": "javascript:alert(1)"}]'},
        "site.links.0.url: must begin with http:// or https://",
    ),
    "a link without a label": ({"site.links": '[{"url": "https://example.com"}]'}, "site.links.0.label: is required"),
    "invoices numbered like those of test mode": (
        {"billing.invoice_prefix": "TEST-1"},
        "billing.invoice_prefix: must be",
    ),
    "a tax of more than the price": ({"billing.tax_percent": 100.1}, "billing.tax_percent: "),
    "a tax below zero": ({"billing.tax_percent": -1}, "billing.tax_percent: "),
    "a tax of four decimal places": (
        {"billing.tax_percent": 8.1234},
        "billing.tax_percent: must have at most 3 decimal",
    ),
    "a tax without a name": (
        {"billing.tax_percent": 8.1, "billing.tax_name": ""},
        "billing.tax_name: must be one line of 1",
    ),
    "HTTPS for longer than browsers remember": ({"server.hsts_seconds": 63_072_001}, "server.hsts_seconds: "),
    "a collector without a scheme": ({"tracing.otlp_url": "127.0.0.1:4318"}, "tracing.otlp_url: "),
    "more traces than requests": ({"tracing.sample": 1.5}, "tracing.sample: "),
    "spans of nobody": ({"tracing.service_name": ""}, "tracing.service_name: "),
    **{
        f"short life, {name}": ({f"retention.{name}_days": days}, f"retention.{name}_days: ")
        for name, days in {
            "unclaimed_keys": 0,
            "ended_keys": 29,
            "unpaid_bookings": 29,
            "payment_events": 34,
            "audit": 89,
            "sessions": 0,
            "mails": 0,
        }.items()
    },
    "short usage": ({"retention.usage_days": 89}, "retention.usage_days: "),
    "bookings that outlive their audit": (
        {"retention.unpaid_bookings_days": 731},
        "retention.unpaid_bookings_days (731) must be at most retention.audit_days (730)",
    ),
    "no engine": ({"server.engine": "uvicorn"}, "server.engine: "),
    "too many workers": ({"server.workers": 65}, "server.workers: "),
    "short secret": ({"server.secret": "hunter2"}, "server.secret is shorter than 32 characters"),
    "contradictory caps": (
        {"tiers.anonymous.daily": 2_000},
        "tiers.anonymous.daily (2000) must be at most tiers.anonymous.lifetime (1000)",
    ),
    "contradictory bounds": (
        {"database.statement_seconds": 9},
        "database.statement_seconds (9) must be below database.command_seconds (4)",
    ),
    "contradictory drain": (
        {"actors.drain_seconds": 3},
        "database.command_seconds (4) must be below actors.drain_seconds (3)",
    ),
    "a website with a scheme": ({"events.sites": '["https://a.example.com"]'}, "events.sites.0: must be a host name"),
    "a network that is none": ({"events.exempt_networks": "the office"}, NO_NETWORK),
    "a network with bits of a host": ({"events.exempt_networks": "10.0.0.1/8"}, NO_NETWORK),
    "batches too small for one request": ({"events.batch": 499}, "events.batch: "),
    "a batch that its mailbox cannot hold": (
        {"events.mailbox": 1_999},
        "events.batch (2000) must be at most events.mailbox (1999)",
    ),
    "beats too far apart": (
        {"nodes.beat_seconds": 6},
        "twice nodes.beat_seconds (12) must be at most nodes.live_seconds (10)",
    ),
    "others forgotten too soon": (
        {"nodes.keep_seconds": 9},
        "nodes.live_seconds (10) must be at most nodes.keep_seconds (9)",
    ),
    "passkeys where browsers offer none": (
        {"admin.require_passkey": "true", "server.base_url": "https://192.0.2.1"},
        "admin.require_passkey needs server.base_url with https and a host name",
    ),
    "passkeys at no known address": (
        {"admin.require_passkey": "true"},
        "admin.require_passkey needs server.base_url with https and a host name",
    ),
    "a challenge without time": ({"passkeys.challenge_seconds": 29}, "passkeys.challenge_seconds: "),
    "no time for the second step": ({"passkeys.sign_in_seconds": 59}, "passkeys.sign_in_seconds: "),
    "no time for changes": ({"passkeys.fresh_seconds": 59}, "passkeys.fresh_seconds: "),
    "a cool-down of more than a week": ({"bookings.cooldown_minutes": 10_081}, "bookings.cooldown_minutes: "),
    "backups once in two years": ({"backup.every_hours": 17_520}, "backup.every_hours: "),
    "scheduled backups of a database of one's own": (
        {"backup.every_hours": 24, "database.url": "postgresql://nobody@/nothing"},
        "backup.every_hours works on the embedded database only, and database.url is set: set it to 0",
    ),
    "more campaigns that wait than campaigns": (
        {"campaigns.pending_per_account": 201},
        "campaigns.pending_per_account (201) must be at most campaigns.per_account (200)",
    ),
    "the embedded database distributed": (
        {"database.distributed": "true"},
        "database.distributed needs database.url: the embedded Postgres has no Citus extension",
    ),
}

PROCESSES: dict[str, Refusal] = {
    "unknown setting": SETTINGS["unknown setting"],
    "contradictory caps": SETTINGS["contradictory caps"],
    "no database": ({"database.url": "postgresql://catalog@/catalog?host=/nowhere"}, "cannot be used: "),
    "no database over TCP": (
        {"database.url": f"postgresql://catalog:{PASSWORD}@127.0.0.1:{free_port()}/catalog"},
        "cannot be used: ",
    ),
}


@pytest.fixture(scope="module")
def place(playground: Path) -> Path:
    directory = playground / "refusals"
    directory.mkdir()
    return directory


@pytest.mark.parametrize("name", SETTINGS)
@smoke
def test_a_setting_that_cannot_be_is_named_in_one_line(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program is called as a function, because it reads its settings first."""
    settings, words = SETTINGS[name]
    for variable, value in environment(settings).items():
        monkeypatch.setenv(variable, value)
    line = _said(capsys, "serve", "--data-dir", place / "data")
    assert words in line
    assert "hunter2" not in line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[server]\ncolour = 'red'\n", "unknown setting server.colour in {file}"),
        ("[server\n", "{file} is not valid TOML: "),
        ("\udcff", "{file} is not UTF-8 (byte 1): save it as UTF-8"),
        (f"a = {'[' * 5_000}\n", "{file} is nested too deeply"),
        ("[http]\nconnections = 10\n", "http.connections_per_address (200) must be at most http.connections (10)"),
        (None, "cannot read {file}: No such file or directory"),
    ],
)
@smoke
def test_a_configuration_file_that_cannot_be_used_is_named_with_what_is_wrong(
    text: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "service.toml"
    if text is not None:
        file.write_text(text, errors="surrogateescape")
    assert words.format(file=file) in _said(capsys, "serve", "--config", file, "--data-dir", tmp_path / "data")


def _said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The program's error line."""
    assert main([str(argument) for argument in arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("service: ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize("name", PROCESSES)
@smoke
def test_a_process_that_refuses_to_start_says_why_in_one_line_and_ends_with_2(name: str, place: Path) -> None:
    settings, words = PROCESSES[name]
    python = sys.executable if SLOW else None
    line = complaint(run(*SERVE, "--data-dir", place / "data", settings=settings, python=python))
    assert words in line
    assert PASSWORD not in line


@pytest.fixture
def database(external: PostgresServer) -> Settings:
    return {"database.url": external.url(external.fresh_database()), "server.secret": SECRET}


def test_mail_settings_that_cannot_be_used_are_refused_without_showing_a_password(
    database: Settings, place: Path
) -> None:
    for mail, words in (
        ({"mail.smtp_url": f"smtp://user:{PASSWORD}@host:port"}, "mail.smtp_url is not valid"),
        ({"mail.sender": "nobody in particular"}, "sender"),
    ):
        done = run(*SERVE, "--data-dir", place / "mail", settings={**database, **mail})
        assert words in complaint(done)
        assert PASSWORD not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("doctor", "--data-dir", ""), "argument --data-dir: it is empty: give a name"),
        (("doctor", "--config", ""), "argument --config: it is empty: give a name"),
        (("import-catalog", ""), "argument FILE: it is empty: give a name"),
        (("backup", ""), "argument FILE: give a file name"),
        (("backup", "-"), "argument FILE: give a file name"),
        (("restore", "-"), "argument FILE: give a file name"),
    ],
)
def test_a_path_that_names_nothing_is_refused_in_one_line(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err.splitlines()[-1]


def test_a_lost_secret_is_not_replaced(database: Settings, place: Path) -> None:
    own: Settings = {"database.url": database["database.url"]}
    beside = ("--data-dir", place / "lost")
    command("migrate", *beside, settings=own)
    assert "note: the database is not used yet" in command("doctor", *beside, settings=own)
    assert not (place / "lost" / "secret").exists(), "doctor stores nothing"
    command("grant-admin", "ann@example.com", *beside, settings=own)
    (place / "lost" / "secret").unlink()
    words = f"{place}/lost/secret is missing, and the database is used with it: restore it from a backup"
    assert words in complaint(run(*SERVE, *beside, settings=own))
    assert f"PROBLEM: {words}" in run("doctor", *beside, settings=own).stdout
    assert not (place / "lost" / "secret").exists()


def test_an_address_that_does_not_exist_is_named(database: Settings, place: Path) -> None:
    line = complaint(run("serve", "--bind", "192.0.2.1:8080", "--data-dir", place / "port", settings=database))
    assert "cannot listen on 192.0.2.1:8080: this machine does not have that address" in line


def test_an_address_that_cannot_be_used_is_found_before_there_is_a_database(place: Path) -> None:
    complaint(run("serve", "--bind", "192.0.2.1:8080", "--data-dir", place / "never"))
    assert not (place / "never").exists()


@pytest.fixture(scope="module")
def careless(playground: Path, new_server: Callable[..., PostgresServer]) -> Iterator[PostgresServer]:
    with started(new_server(playground / "careless", "fsync=off")) as server:
        yield server


def test_a_database_that_may_lose_what_was_answered_is_refused_unless_that_is_accepted(
    careless: PostgresServer, place: Path
) -> None:
    settings = {"database.url": careless.url(), "server.secret": SECRET}
    line = complaint(run(*SERVE, "--data-dir", place / "careless", settings=settings))
    assert "fsync=off" in line
    assert "database.allow_unsafe" in line
    accepted = {**settings, "database.allow_unsafe": "true"}
    with serving(place / "careless", accepted) as service:
        assert service.status("/api/v1/bots", service.mint()["apiKey"]) == 200
        assert "fsync=off" in service.log()
    done = run("doctor", "--data-dir", place / "careless", settings={**accepted, "server.workers": 64})
    assert done.returncode == 2
    assert "PROBLEM: fsync=off: a confirmed write can be lost in a crash" in done.stdout.splitlines()
    assert "server.workers = 64 nodes use up to 10 each: raise max_connections" in done.stdout


@pytest.mark.parametrize(("workers", "needed"), [(1, 10), (3, 31)])
def test_the_doctor_counts_the_connections_of_all_workers_and_the_one_of_their_parent(
    workers: int, needed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    config = load(None, {"CATALOG__SERVER__WORKERS": str(workers)})
    assert too_few_connections(config, needed) == []
    assert f"use at most {needed}" in capsys.readouterr().out
    [problem] = too_few_connections(config, needed - 1)
    assert f"server.workers = {workers} " in problem


@pytest.mark.parametrize(("connections", "needed"), [(8, 39), (20, 93)])
def test_the_doctor_counts_what_nodes_and_coordinator_open_to_each_worker(
    connections: int, needed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    config = load(None, {"CATALOG__SERVER__WORKERS": "3", "CATALOG__DATABASE__CONNECTIONS": str(connections)})
    enough = ServerReport(1, "worker one:5432", 128, room=needed)
    assert check_worker(config, enough) == []
    assert capsys.readouterr().out == (
        f"ok: worker one:5432 answers, holds 128 of 256 places and allows {needed} connections; "
        f"the nodes here and their coordinator need up to {needed}\n"
    )
    [problem] = check_worker(config, replace(enough, room=needed - 1))
    assert f"worker one:5432 allows {needed - 1} connections, but server.workers = 3 nodes open up to" in problem
    assert check_worker(config, replace(enough, number=0, room=1)) == [], (
        "the coordinator's are counted by another check"
    )
    [away] = check_worker(config, replace(enough, error="connection refused", room=0))
    assert "cannot be used" in away


LIVE: Settings = {
    "billing.mode": "live",
    "billing.stripe_secret_key": "sk_live_x",
    "billing.stripe_webhook_secret": "whsec_x",
    "billing.seller_name": "Example Media",
    "mail.smtp_url": "smtp://127.0.0.1:9",
}


def test_a_database_of_one_billing_mode_is_refused_to_nodes_of_the_other(database: Settings, place: Path) -> None:
    beside = ("--data-dir", place / "mode")
    with serving(place / "mode", database) as service:
        assert "ok: the billing mode is test" in service.command("doctor")
        done = run("set-billing-mode", "live", *beside, settings=database)
        assert "running nodes keep their billing mode (1 running): stop all nodes first" in complaint(done)
    live: Settings = {**database, **LIVE}
    words = 'billing.mode is "live", but this database is used in test mode'
    assert words in complaint(run(*SERVE, *beside, settings=live))
    doctor = run("doctor", *beside, settings=live)
    assert doctor.returncode == 2
    assert f"PROBLEM: {words}" in doctor.stdout
    # The demo has bookings that were paid in test mode.
    line = complaint(run("set-billing-mode", "live", *beside, settings=live))
    assert "bookings of the other mode hold weeks" in line
    assert "seed-demo --remove" in line
    assert "removed" in command("seed-demo", "--remove", *beside, settings=live)
    said = command("set-billing-mode", "live", *beside, settings=live)
    assert said == "the billing mode is now live; set billing.mode to it on all nodes\n"
    assert "already live" in command("set-billing-mode", "live", *beside, settings=live)
    with serving(place / "mode", live) as service:
        assert service.is_ready()
        assert "ok: the billing mode is live" in run("doctor", *beside, settings=live).stdout
    assert "used in live mode" in complaint(run(*SERVE, *beside, settings=database))


def test_a_public_service_without_mail_starts_where_that_is_allowed_and_warns(database: Settings, place: Path) -> None:
    public: Settings = {
        **database,
        "server.base_url": "https://catalog.example.com",
        "server.allow_unsafe_public": "true",
    }
    with serving(place / "trial", public) as service:
        assert "server.allow_unsafe_public is true: the service is public" in service.log()
        assert service.get("/dev/outbox").status_code == 404
    doctor = run("doctor", "--data-dir", place / "trial", settings=public)
    assert doctor.returncode == 2
    problems = [line for line in doctor.stdout.splitlines() if line.startswith("PROBLEM: ")]
    assert [problem.split()[1] for problem in problems] == ["server.base_url", "server.bind"]


DOCUMENTS = {
    "SITE__TERMS_URL": "https://example.com/terms",
    "SITE__PRIVACY_URL": "https://example.com/privacy",
    "SITE__CONTACT": "hello@example.com",
}
UNSAID = 'billing.mode is "live", and site.terms_url and site.privacy_url'


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({}, []),
        ({"SERVER__BASE_URL": "http://127.0.0.1:9000"}, []),
        ({"SERVER__BASE_URL": "http://localhost"}, []),
        (PUBLIC, []),
        (PUBLIC | {"SERVER__BASE_URL": "http://catalog.example.com"}, ["server.base_url is http"]),
        (PUBLIC | {"MAIL__SMTP_URL": ""}, ["server.base_url is public and mail.smtp_url is empty"]),
        (PUBLIC | {"SERVER__TRUSTED_PROXIES": ""}, ["server.bind is reached from this machine only"]),
        (PUBLIC | {"SERVER__TRUSTED_PROXIES": "", "SERVER__BIND": "0.0.0.0:80"}, []),
        (
            PUBLIC | IN_LIVE_MODE,
            [
                'billing.mode is "live", and billing.seller_name is empty: invoices name no seller',
                f"{UNSAID} and site.contact are",
            ],
        ),
        (PUBLIC | IN_LIVE_MODE | DOCUMENTS | {"BILLING__SELLER_NAME": "Example Media"}, []),
        (
            PUBLIC | IN_LIVE_MODE | DOCUMENTS | {"BILLING__SELLER_NAME": "Example Media", "SITE__CONTACT": ""},
            ['billing.mode is "live", and site.contact is empty'],
        ),
        (PUBLIC | {"BILLING__TAX_PERCENT": "8.1"}, []),
        (
            PUBLIC | IN_LIVE_MODE | DOCUMENTS | TAXED,
            ['billing.mode is "live", and billing.tax_percent is set, but not whose tax it is'],
        ),
        (PUBLIC | IN_LIVE_MODE | DOCUMENTS | TAXED | {"BILLING__SELLER_ADDRESS": "1 Example Street"}, []),
    ],
)
def test_the_doctor_finds_what_is_unsafe_in_a_configuration(settings: dict[str, str], wrong: list[str]) -> None:
    config = load(None, {f"CATALOG__{name}": value for name, value in settings.items()})
    found = problems(config)
    assert len(found) == len(wrong)
    assert all(problem.startswith(words) for problem, words in zip(found, wrong, strict=True))


def test_a_certificate_that_has_expired_is_a_warning_at_the_start_and_a_problem_of_the_doctor(
    database: Settings, place: Path
) -> None:
    tls = {"tls.bind": "127.0.0.1:0", "tls.certificate": place / "old.pem", "tls.key": place / "old.key"}
    make_certificate(place / "old.pem", place / "old.key", first=2020, last=2021)
    words = f"tls.certificate: a certificate in {place}/old.pem has expired: clients reject it; renew it"
    with serving(place / "tls", {**database, **tls}) as service:
        assert service.log().count(words) == 1
        assert service.is_ready()
        assert len(re.findall(r"^listening on https?://", service.out.read_text(), re.MULTILINE)) == 2
    done = run("doctor", "--data-dir", place / "tls", settings={**database, **tls})
    assert f"PROBLEM: {words}" in done.stdout.splitlines()


def test_a_command_that_fails_beside_no_server_prints_its_reason_alone(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    cases: dict[tuple[object, ...], str] = {
        ("grant-admin", "not-an-email"): "'not-an-email' is not an email address",
        ("revoke-admin", "nobody@example.com"): "nobody@example.com is not an administrator",
        ("backup", tmp_path / "there"): f"{tmp_path}/there already exists: choose another file",
    }
    for case, words in cases.items():
        assert run(*case, "--data-dir", data_dir).stderr == f"service: {words}\n"
    loud = run("revoke-admin", "nobody@example.com", "--data-dir", data_dir, "--verbose").stderr
    assert " accepts connections at " in loud
