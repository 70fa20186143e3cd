"""The main job on real input, over real processes and real SMTP, and what it leaves behind."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from storage.cluster import Cluster
from tests.acceptance.postgres import ask
from tests.acceptance.processes import command, run, serving
from tests.acceptance.smtp import PostOffice, SmtpServer
from tests.acceptance.story import do_main_job


def test_a_key_is_minted_used_claimed_by_mail_and_its_usage_outlives_a_restart(data_dir: Path, tmp_path: Path) -> None:
    office = PostOffice()
    with SmtpServer(office) as smtp:
        with serving(data_dir, {"mail.smtp_url": smtp.url}) as service:
            job = do_main_job(service, office, tmp_path)
            assert service.status("/dev/outbox") == 404, "an outbox is shown only where mail goes nowhere else"
            service.stop()
        with serving(data_dir, {"mail.smtp_url": smtp.url}) as service:
            assert service.usage(job.api_key) == job.usage
            assert service.get("/api/v1/usecases/usecase-31", job.api_key).status_code == 200
            assert service.usage(job.api_key)["requestsUsed"] == job.usage["requestsUsed"] + 1
        assert len(office.messages) == 1, "a letter that was taken is not sent again"


def test_no_secret_that_was_handed_out_is_in_the_logs_or_the_database(
    new_data_dir: Callable[[str], Path], template: Cluster, tmp_path: Path
) -> None:
    data_dir = new_data_dir("secrets")
    office = PostOffice()
    with SmtpServer(office) as smtp:
        settings = {"mail.smtp_url": smtp.url, "log.format": "json", "log.level": "debug"}
        with serving(data_dir, settings) as service:
            job = do_main_job(service, office, tmp_path)
            issuing = [
                run("issue-key", "--email", job.email, "--data-dir", data_dir, *scopes, settings={"log.level": "debug"})
                for scopes in ((), ("--scopes", "library:read"))
            ]
            issued = [done.stdout.strip() for done in issuing]
            assert [service.status("/api/v1/bots", key) for key in issued] == [200, 200]
            # What a client sends by mistake is no reason to keep it either.
            forged = issued[0][:-1] + ("a" if issued[0][-1] != "a" else "b")
            assert service.status(f"/api/v1/bots?key={issued[0]}", forged) == 401
            for path in ("/metrics", "/readyz", "/"):
                assert not _found(service.get(path).text, [*job.secrets, *issued])
            dump = _dump(service.sockets)
            service.stop()
        logs = service.log() + service.out.read_text() + "".join(done.stderr for done in issuing)

    secrets = [*job.secrets, *issued]
    assert [len(secret) > 30 for secret in secrets] == [True] * 4
    assert all(isinstance(json.loads(line), dict) for line in service.log().splitlines()), "one JSON object a line"
    assert "POST /api/v1/auth/claim/complete" in logs, "the logs are those of the job"
    assert job.email in dump, "the dump holds what was kept"
    assert not _found(logs, secrets)
    assert not _found(dump, secrets)
    assert not _found(logs, job.codes, whole=True)
    assert not _found(dump, job.codes, whole=True)
    assert job.email not in logs, "an address is shown masked"

    # Files and not tables: the log of the database too, and what was deleted. A fresh cluster has numbers of its own.
    raw, fresh = _files(data_dir / "postgres"), _files(template.directory)
    assert not _found(raw, secrets)
    assert not [code for code in _found(raw, job.codes, whole=True) if not _found(fresh, [code], whole=True)]


def test_the_dump_and_the_files_would_show_a_secret_that_was_kept(data_dir: Path) -> None:
    """The checks above find what they look for: a key's prefix, which is kept on purpose."""
    with serving(data_dir) as service:
        prefix = service.usage(service.mint()["apiKey"])["keyPrefix"]
        assert _found(_dump(service.sockets), [prefix])
        service.stop()
    assert _found(_files(data_dir / "postgres"), [prefix])


def test_without_an_smtp_server_the_code_stands_in_the_outbox_that_only_this_machine_sees(data_dir: Path) -> None:
    with serving(data_dir) as service:
        minted = service.mint()
        claim = {"claimToken": minted["claimToken"], "email": "grace@example.com"}
        assert service.post("/api/v1/auth/claim", claim).json() == {"sent": True}
        codes = re.findall(r"^\s*(\d{6})\s*$", service.get("/dev/outbox").text, re.MULTILINE)
        assert len(codes) == 1
        assert service.post("/api/v1/auth/claim/complete", {**claim, "code": codes[0]}).status_code == 200


def test_the_commands_work_on_the_database_of_a_service_that_is_stopped(data_dir: Path) -> None:
    with serving(data_dir) as service:
        service.stop()
    key = command("issue-key", "--email", "alan@example.com", "--data-dir", data_dir).strip()
    with serving(data_dir) as service:
        assert service.usage(key)["email"] == "alan@example.com"


def _found(text: str | bytes, secrets: list[str], *, whole: bool = False) -> list[str]:
    """Those of `secrets` that stand in a text; `whole` ones only where no digit or letter is beside them."""
    if isinstance(text, bytes):
        edge = rb"(?<![0-9A-Za-z])%s(?![0-9A-Za-z])" if whole else b"%s"
        return [secret for secret in secrets if re.search(edge % secret.encode(), text)]
    edge_text = r"(?<![0-9A-Za-z]){}(?![0-9A-Za-z])" if whole else "{}"
    return [secret for secret in secrets if re.search(edge_text.format(secret), text)]


def _dump(sockets: Path) -> str:
    """All rows of all tables as text; bytes are read as text where they are, numbers are left out."""
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
