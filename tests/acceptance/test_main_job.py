"""The main job on real input with real processes and SMTP, and the traces it leaves."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from storage.embedded.cluster import Cluster
from tests.acceptance.engines import ENGINES
from tests.acceptance.postgres import ask
from tests.acceptance.processes import Settings, run_all, serving
from tests.acceptance.smtp import MailServer, SmtpServer
from tests.acceptance.story import Job, do_main_job
from tests.slow import smoke

pytestmark = smoke


@dataclass(slots=True)
class Scene:
    """The main job done once, with the service's output and the final content of the database."""

    data_dir: Path
    settings: Settings
    job: Job
    mail_server: MailServer
    issued: list[str]
    prefix: str
    logs: str
    pages: str
    dump: str

    @property
    def secrets(self) -> list[str]:
        return [*self.job.secrets, *self.issued]


@pytest.fixture(scope="module", params=ENGINES)
def scene(request: pytest.FixtureRequest, new_data_dir: Callable[[str], Path]) -> Iterator[Scene]:
    data_dir, mail_server = new_data_dir(f"main-job-{request.param}"), MailServer()
    with SmtpServer(mail_server) as smtp:
        settings = {
            "mail.smtp_url": smtp.url,
            "log.format": "json",
            "log.level": "debug",
            "server.engine": request.param,
        }
        with serving(data_dir, settings) as service:
            job = do_main_job(service, mail_server, data_dir.parent)
            issue = ("issue-key", "--email", job.email, "--data-dir", data_dir)
            issuing = run_all(issue, (*issue, "--scopes", "library:read"), settings={"log.level": "debug"})
            issued = [done.stdout.strip() for done in issuing]
            assert [service.status("/api/v1/bots", key) for key in issued] == [200, 200]
            # Secrets that a client sends by mistake must not be kept either.
            mistaken = issued[0][:-1] + ("a" if issued[0][-1] != "a" else "b")
            assert service.status(f"/api/v1/bots?key={issued[0]}", mistaken) == 401
            pages = "".join(service.get(path).text for path in ("/metrics", "/readyz", "/"))
            job.usage = service.usage(job.api_key)
            assert service.status("/dev/outbox") == 404, "an outbox is shown only where mail goes nowhere else"
            dump = _dump(service.sockets)
            service.stop()
            assert all(isinstance(json.loads(line), dict) for line in service.log().splitlines()), "an object a line"
            logs = service.log() + service.out.read_text() + "".join(done.stderr for done in issuing)
        yield Scene(data_dir, settings, job, mail_server, issued, job.usage["keyPrefix"], logs, pages, dump)


def test_no_secret_that_was_handed_out_is_in_the_logs(scene: Scene) -> None:
    assert "POST /api/v1/auth/claim/complete" in scene.logs, "the logs are those of the job"
    assert not _found(scene.logs, scene.secrets)
    assert not _found(scene.logs, scene.job.codes, whole=True)
    assert scene.job.email not in scene.logs, "an address is shown masked"
    assert not _found(scene.pages, scene.secrets)


def test_no_secret_that_was_handed_out_is_in_the_tables(scene: Scene) -> None:
    assert _found(scene.dump, [scene.job.email, scene.prefix]) == [scene.job.email, scene.prefix]
    assert [len(secret) > 30 for secret in scene.secrets] == [True] * 4
    assert not _found(scene.dump, scene.secrets)
    assert not _found(scene.dump, scene.job.codes, whole=True)


def test_no_secret_that_was_handed_out_is_in_the_files_of_the_database(scene: Scene, template: Cluster) -> None:
    """Includes the write-ahead log and deleted rows."""
    raw = _files(scene.data_dir / "postgres")
    assert _found(raw, [scene.job.email, scene.prefix]) == [scene.job.email, scene.prefix]
    assert not _found(raw, scene.secrets)
    # A cluster contains its own numbers, and one of them may equal the code.
    by_chance = _found(_files(template.directory), scene.job.codes, whole=True)
    assert _found(raw, scene.job.codes, whole=True) == by_chance


def test_a_key_that_was_claimed_by_mail_and_its_usage_outlive_a_restart(scene: Scene) -> None:
    with serving(scene.data_dir, scene.settings) as service:
        key, usage = scene.job.api_key, scene.job.usage
        assert service.usage(key) == usage
        assert service.get("/api/v1/usecases/usecase-31", key).json()["slug"] == "usecase-31"
        assert service.usage(key)["requestsUsed"] == usage["requestsUsed"] + 1
    subjects = [message["Subject"] for message in scene.mail_server.messages]
    assert subjects.count("Your code to claim an API key") == 1, "a letter that was taken is not sent again"


def test_without_an_smtp_server_the_code_stands_in_the_outbox_that_only_this_machine_sees(data_dir: Path) -> None:
    with serving(data_dir) as service:
        minted = service.mint()
        claim = {"claimToken": minted["claimToken"], "email": "grace@example.com"}
        assert service.post("/api/v1/auth/claim", claim).json() == {"sent": True}
        codes = re.findall(r"^\s*(\d{6})\s*$", service.get("/dev/outbox").text, re.MULTILINE)
        assert len(codes) == 1
        assert service.post("/api/v1/auth/claim/complete", {**claim, "code": codes[0]}).status_code == 200
        assert _found(service.log(), [rf"\\n{codes[0]}\\n"]), "the whole letter is in the log, on one line"


def _found(text: str | bytes, secrets: list[str], *, whole: bool = False) -> list[str]:
    """The `secrets` that a text contains; `whole` ones only if no digit or letter adjoins them."""
    if isinstance(text, bytes):
        edge = rb"(?<![0-9A-Za-z])%s(?![0-9A-Za-z])" if whole else b"%s"
        present = [secret for secret in secrets if secret.encode() in text]  # much faster than the expression
        return [secret for secret in present if re.search(edge % secret.encode(), text)]
    edge_text = r"(?<![0-9A-Za-z]){}(?![0-9A-Za-z])" if whole else "{}"
    return [secret for secret in secrets if re.search(edge_text.format(secret), text)]


def _dump(sockets: Path) -> str:
    """All rows of all tables as text, with bytes decoded if possible and without numbers."""
    tables = ask(
        sockets,
        "select quote_ident(table_name) as name, array_agg(quote_ident(column_name) || case data_type"
        " when 'bytea' then '::bytea' else '::text' end) as columns from information_schema.columns"
        " where table_schema = 'public' and data_type not in ('bigint', 'integer', 'boolean')"
        " group by table_name order by table_name",
    )
    lines = []
    for name, columns in tables:
        for row in ask(sockets, f"select {', '.join(columns)} from {name}"):
            lines += [value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in row]
    assert len(tables) >= 10
    return "\n".join(lines)


def _files(directory: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())
