"""The commands, beside a running server and alone. The server sees their changes within a second."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from service.cli.main import main
from tests.acceptance.processes import (
    Service,
    bot,
    command,
    complaint,
    run,
    run_all,
    serving,
    until,
    usecase,
    write_catalog,
)
from tests.acceptance.smtp import MailServer, SmtpServer
from tests.slow import smoke

SEEN_SECONDS = 1.0
FIRST = "first@example.com"
"""The configured administrator."""

COMMANDS = {
    "serve": "listening on URL",
    "migrate": "schema",
    "import-catalog": "all or nothing",
    "issue-key": "printed once",
    "revoke-key": "permanently",
    "sign-in-link": "works once",
    "set-tier": "tier",
    "seed-demo": "real ones stay",
    "list-slots": "slots",
    "create-slot": "prints its id",
    "edit-slot": "not given stay",
    "retire-slot": "bookings stay",
    "list-accounts": "newest first",
    "suspend-account": "within a second",
    "unsuspend-account": "suspended account",
    "grant-admin": "an administrator",
    "revoke-admin": "administrator rights",
    "remove-passkeys": "has lost them",
    "distribute": "to the workers",
    "set-billing-mode": "billing mode",
    "export-account": "JSON lines",
    "delete-account": "undo it",
    "openapi": "OpenAPI",
    "backup": "secret to one file",
    "restore": "from a backup",
    "completion": "in a shell",
    "doctor": "running well",
}


@dataclass(slots=True)
class Shop:
    """A running service, and a key issued before its start."""

    service: Service
    early_key: str

    def command(self, *arguments: object) -> str:
        return self.service.command(*arguments)


@pytest.fixture(scope="module")
def shop(new_data_dir: Callable[[str], Path]) -> Iterator[Shop]:
    data_dir = new_data_dir("commands")
    early_key = command("issue-key", "--email", "early@example.com", "--data-dir", data_dir).strip()
    with serving(data_dir, {"admin.emails": FIRST}) as service:
        yield Shop(service, early_key)


def test_a_key_that_was_issued_without_a_server_works_once_one_runs(shop: Shop) -> None:
    assert shop.service.usage(shop.early_key)["email"] == "early@example.com"
    assert shop.early_key.startswith("cs_user_")


def test_migrating_beside_a_server_says_that_all_is_done(shop: Shop) -> None:
    assert shop.command("migrate") == "the schema is up to date\n"


def test_the_doctor_of_a_healthy_service_finds_nothing(shop: Shop) -> None:
    lines = shop.command("doctor").splitlines()
    assert "with the embedded Postgres) has" in lines[0]
    assert any("the database answers, version 18." in line for line in lines)
    assert all(line.startswith(("ok: ", "note: ")) for line in lines)
    assert any("mail.smtp_url is empty" in line for line in lines)


def test_the_doctor_of_a_public_service_notes_administrators_without_passkeys(shop: Shop) -> None:
    words = "note: admin.require_passkey is false"
    assert words not in shop.command("doctor")
    beside = ("doctor", "--data-dir", shop.service.data_dir)
    with SmtpServer(MailServer()) as smtp:
        public = {
            "server.base_url": "https://catalog.example.com",
            "server.trusted_proxies": "127.0.0.1",
            "mail.smtp_url": smtp.url,
        }
        assert words in command(*beside, settings=public)
        assert words not in command(*beside, settings=public | {"admin.require_passkey": "true"})


def test_a_service_without_workers_says_that_sighup_does_nothing_and_goes_on(shop: Shop) -> None:
    shop.service.process.send_signal(signal.SIGHUP)
    until(lambda: "SIGHUP does nothing here: restart the service" in shop.service.log())
    assert shop.service.is_ready()


def test_an_import_says_what_it_did_and_a_dry_run_what_it_would_do(shop: Shop, tmp_path: Path) -> None:
    service = shop.service
    first = write_catalog(tmp_path / "first.jsonl", *map(bot, range(1, 4)), usecase(1))
    printed = shop.command("import-catalog", first, "--prune", "--dry-run").splitlines()
    assert printed == [
        f"bots: 3 added, 0 changed, 0 unchanged, {_count(service, 'bots')} removed",
        f"usecases: 1 added, 0 changed, 0 unchanged, {_count(service, 'usecases')} removed",
        "nothing was changed: this was a dry run",
    ]
    assert service.status("/api/v1/bots/bot-1") == 404

    shop.command("import-catalog", first, "--prune")
    until(lambda: service.status("/api/v1/bots/bot-1") == 200, SEEN_SECONDS)
    assert [entry["slug"] for entry in service.get("/api/v1/bots").json()["data"]] == ["bot-3", "bot-2", "bot-1"]
    assert service.get("/api/v1/bots?q=invoice").json()["data"], "what was imported is found"

    second = write_catalog(tmp_path / "second.jsonl", bot(1), bot(2, name="Renamed"), bot(9))
    printed = shop.command("import-catalog", second).splitlines()
    assert printed == ["bots: 1 added, 1 changed, 1 unchanged, 0 removed"]
    until(lambda: service.get("/api/v1/bots/bot-2").json()["name"] == "Renamed", SEEN_SECONDS)
    assert service.status("/api/v1/bots/bot-3") == 200, "without --prune nothing is removed"
    assert service.status("/api/v1/usecases/usecase-1") == 200, "a kind that the file does not have is left alone"


def _count(service: Service, kind: str) -> int:
    """The number of served entries of a kind."""
    entries, cursor = 0, ""
    while cursor is not None:
        page = service.get(f"/api/v1/{kind}?limit=100&cursor={cursor}").json()
        entries, cursor = entries + len(page["data"]), page["nextCursor"]
    return entries


def test_a_file_that_cannot_be_imported_is_refused_with_line_numbers_and_changes_nothing(
    shop: Shop, tmp_path: Path
) -> None:
    good, broken = json.dumps(bot(50)), json.dumps(bot(51))[:-20]
    files = {
        "wrong.jsonl": (
            f"{good}\n\n{broken}\n{json.dumps(bot(52, templateUrl='javascript:alert(1)'))}\n{good}\n",
            [
                "line 3: is not JSON",
                "line 4 (bot-52): templateUrl: must begin with http",
                "line 5 (bot-50): has the same slug as line 1",
            ],
        ),
        "binary.jsonl": (f"{good}\n\udcff\udcfe\n", ["the file is not UTF-8 (line 2)"]),
        "cut.json": (f"[{good},\n{broken}", ["the file is not JSON"]),
    }
    for name, (text, _) in files.items():
        (tmp_path / name).write_bytes(text.encode(errors="surrogateescape"))
    importing = [("import-catalog", tmp_path / name, "--data-dir", shop.service.data_dir) for name in files]
    for done, (name, (_, expected)) in zip(run_all(*importing), files.items(), strict=True):
        line = complaint(done)
        assert f"{tmp_path / name}: " in line
        assert "nothing was imported" in line
        complaints = done.stderr.splitlines()[:-1]
        assert len(complaints) == len(expected), name
        for said, words in zip(complaints, expected, strict=True):
            assert words in said
    assert shop.service.status("/api/v1/bots/bot-50") == 404
    absent = complaint(run("import-catalog", tmp_path / "absent.jsonl", "--data-dir", shop.service.data_dir))
    assert absent == f"service: cannot read {tmp_path}/absent.jsonl: No such file or directory"


@smoke
def test_a_suspended_account_is_refused_by_the_running_server_within_a_second(shop: Shop) -> None:
    service, email = shop.service, "suspended@example.com"
    key = shop.command("issue-key", "--email", email).strip()
    assert service.status("/api/v1/bots", key) == 200, "the server remembers it as a good one"
    suspend = ("suspend-account", email, "--reason", "Malware.")
    assert shop.command(*suspend) == f"{email} is suspended\n"
    until(lambda: service.status("/api/v1/bots", key) == 403, SEEN_SECONDS)
    again, administrator = run_all(
        (*suspend, "--data-dir", service.data_dir),
        ("suspend-account", FIRST, "--reason", "x", "--data-dir", service.data_dir),
    )
    assert again.stdout == f"{email} is already suspended\n"
    assert complaint(administrator)
    [line] = shop.command("list-accounts", "--suspended").splitlines()
    assert line.split()[1:] == [email, "claimed", "suspended"]
    assert shop.command("unsuspend-account", email) == f"{email} is no longer suspended\n"
    until(lambda: service.status("/api/v1/bots", key) == 200, SEEN_SECONDS)


def test_a_tier_that_was_set_holds_on_the_running_server_within_a_second(shop: Shop) -> None:
    service, key = shop.service, shop.early_key
    assert '"minute";q=300;w=60, "day";q=10000;' in service.get("/api/v1/bots", key).headers["ratelimit-policy"]
    set_tier = ("set-tier", "--email", "early@example.com", "--tier")
    assert shop.command(*set_tier, "upgraded") == "early@example.com is upgraded\n"
    expected = '"minute";q=1200;w=60, "day";q=100000;'
    until(lambda: expected in service.get("/api/v1/bots", key).headers["ratelimit-policy"], SEEN_SECONDS)
    usage = service.usage(key)
    assert (usage["status"], usage["requestLimit"]) == ("upgraded", 1_000_000)
    shop.command(*set_tier, "claimed")
    until(lambda: service.usage(key)["requestLimit"] == 100_000, SEEN_SECONDS)


def test_a_scoped_key_does_what_its_scopes_say_and_no_more(shop: Shop) -> None:
    issue = ("issue-key", "--email", "scoped@example.com", "--scopes")
    reader = shop.command(*issue, "library:read").strip()
    assert reader.startswith("cs_scoped_")
    assert shop.service.status("/api/v1/bots", reader) == 200
    unknown = complaint(run(*issue, "library:burn", "--data-dir", shop.service.data_dir))
    assert unknown.startswith("service: unknown scope library:burn; scopes are library:read")


def test_an_administrator_is_appointed_and_removed_beside_the_running_server(shop: Shop) -> None:
    """The configured one exists from the start. Another is added before it has an account. Then both are removed."""
    service, beside = shop.service, ("--data-dir", shop.service.data_dir)
    assert "ok: administrators: 1" in shop.command("doctor")
    granted = run("grant-admin", "Second@Example.com", *beside)
    assert granted.stdout == "second@example.com is an administrator\n"
    assert granted.stderr == "note: no account has this email yet; the first sign-in makes it\n"
    assert shop.command("grant-admin", "second@example.com") == "second@example.com is already an administrator\n"
    emails = (FIRST, "second@example.com")
    keys = {email: shop.command("issue-key", "--email", email, "--admin").strip() for email in emails}
    for email, options in (("nobody@example.com", ["--admin"]), (FIRST, ["--admin", "--scopes", "admin:read"])):
        assert "admin" in complaint(run("issue-key", "--email", email, *options, *beside))

    def upgrade(email: str) -> int:
        order = {"email": "second@example.com", "tier": "upgraded"}
        headers = {"authorization": f"Bearer {keys[email]}"}
        return service.http.post("/api/v1/admin/accounts/tier", json=order, headers=headers).status_code

    assert {email: upgrade(email) for email in keys} == dict.fromkeys(keys, 200)
    shop.command("revoke-admin", "second@example.com")
    assert upgrade("second@example.com") == 403, "for the very next request"
    last = run("revoke-admin", FIRST, *beside)
    assert last.stdout == f"{FIRST} is no longer an administrator\n"
    assert "there is no administrator left" in last.stderr
    assert upgrade(FIRST) == 403
    assert complaint(run("revoke-admin", FIRST, *beside)) == f"service: {FIRST} is not an administrator"
    assert "note: there is no administrator" in shop.command("doctor")


def test_an_account_is_exported_and_deleted_by_commands(shop: Shop) -> None:
    shop.command("issue-key", "--email", "leaver@example.com", "--name", "Laptop")
    lines = [json.loads(line) for line in shop.command("export-account", "leaver@example.com").splitlines()]
    assert [line["row"]["name"] for line in lines if line["table"] == "api_keys"] == ["Laptop"]
    assert "the owner can undo it" in shop.command("delete-account", "leaver@example.com")
    assert shop.command("delete-account", "leaver@example.com", "--now").startswith("leaver@example.com is deleted")
    beside = ("--data-dir", shop.service.data_dir)
    assert "no account" in complaint(run("export-account", "leaver@example.com", *beside))


def test_an_operators_link_opens_a_session_beside_a_running_server(shop: Shop) -> None:
    link = shop.command("sign-in-link", FIRST).strip()
    assert link.startswith(f"{shop.service.url}/sign-in/link?token=sgn_"), "the address of the node that runs"
    with httpx.Client(headers={"sec-fetch-site": "same-origin"}) as browser:
        for _ in range(2):
            assert "set-cookie" not in browser.get(link).headers, (
                "opening the link, as mail scanners do, uses nothing up"
            )
        form = {"do": "use", "token": link.partition("token=")[2]}
        done = browser.post(f"{shop.service.url}/sign-in/link", data=form)
        assert (done.status_code, done.headers["location"]) == (303, "/dashboard?notice=signed_in")
        assert browser.post(f"{shop.service.url}/sign-in/link", data=form).status_code == 400
        cookie = {"cookie": done.headers["set-cookie"].partition(";")[0]}
        dashboard = browser.get(f"{shop.service.url}/dashboard", headers=cookie)
    assert FIRST in dashboard.text
    assert link.partition("token=")[2] not in shop.service.log()


def test_what_a_command_cannot_do_is_one_line(shop: Shop) -> None:
    cases = {
        ("revoke-key", "cs_user_none"): "there is no such key",
        ("distribute",): "the database is not distributed: set database.distributed to true",
        ("set-tier", "--email", "nobody@example.com", "--tier", "upgraded"): "nobody@example.com",
        ("remove-passkeys", "nobody@example.com"): "the account nobody@example.com has no passkey",
        ("export-account", "nobody@example.com"): "there is no account with the email nobody@example.com",
        ("suspend-account", "nobody@example.com", "--reason", " "): "--reason must have at least 1 character",
        ("issue-key", "--email", "no address"): "'no address' is not an email address",
    }
    beside = ("--data-dir", shop.service.data_dir)
    for done, words in zip(run_all(*((*case, *beside) for case in cases)), cases.values(), strict=True):
        assert words in complaint(done)


def test_the_openapi_command_prints_the_document_that_is_served(shop: Shop) -> None:
    document = json.loads(command("openapi", settings={"server.base_url": shop.service.url}))
    assert document["openapi"].startswith("3.1")
    assert document == shop.service.get("/openapi.json").json()


@smoke
def test_every_command_says_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    def help_of(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--help"])
        assert ended.value.code == 0
        return capsys.readouterr().out

    overall = help_of()
    assert run("--help").stdout.splitlines()[0] == overall.splitlines()[0], "the process says what the function says"
    for name, words in COMMANDS.items():
        assert f"\n    {name}" in overall
        said = help_of(name)
        assert f"usage: python -m service {name}" in said
        assert words in said
        assert "--data-dir DIR" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("frobnicate",), "there is no command 'frobnicate' (try --help)"),
        (("sevre", "--bind", "x"), "there is no command 'sevre': did you mean 'serve'?"),
        (("set-tier", "--email", "a@example.com"), "the following arguments are required: --tier"),
        (("set-tier", "--email", "a@example.com", "--tier", "royal"), "invalid choice: 'royal'"),
        (("serve", "--port", "80"), "unrecognized arguments: --port 80"),
        (("import-catalog",), "the following arguments are required: FILE"),
    ],
)
@smoke
def test_wrong_usage_is_one_line_that_points_to_help(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.endswith("(try --help)\n")
    assert said.err.count("\n") == 1


def test_a_process_that_is_used_wrongly_says_so_in_one_line() -> None:
    done = run("frobnicate", python=sys.executable)
    line = complaint(done)
    assert done.stderr == f"{line}\n"


def test_a_leaked_key_is_revoked_by_its_text_which_is_not_repeated(shop: Shop) -> None:
    key = shop.service.command("issue-key", "--email", "leak@example.com").strip()
    said = shop.service.command("revoke-key", key)
    assert "revoked" in said
    assert key not in said


def test_a_mistyped_data_directory_is_named_and_stays_empty(tmp_path: Path) -> None:
    typo = tmp_path / "typo"
    for arguments in (["doctor"], ["issue-key", "--email", "a@example.com"]):
        said = complaint(run(*arguments, "--data-dir", typo))
        assert f"there is no database in {typo}" in said
    assert not typo.exists()


def test_an_argument_that_is_no_text_is_one_line() -> None:
    assert "not valid UTF-8" in complaint(run("revoke-key", "\udcff", python=sys.executable))
