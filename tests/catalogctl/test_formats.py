"""The three formats of every command: words, `--json` and `--quiet`, for results and for errors.

Each command is run once against the real application; the other formats are run with the responses that it gave.
"""

import argparse
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from service.catalogctl.admin_commands import SEEN
from service.catalogctl.client import Asked, Reply
from service.catalogctl.failures import Unreachable
from service.catalogctl.main import whole_parser
from service.catalogctl.session import ids_of
from service.terminal.completion import completion_script
from tests.api.sponsors import add_slot, sponsor
from tests.api.world import open_world
from tests.catalogctl.stage import Stage, refuses, saved, scripted
from tests.catalogctl.test_commands import CREATIVE, EMAIL, URL, WEEK, Desk
from tests.catalogctl.test_device import START
from tests.catalogctl.test_logins import GRANT, PENDING, STARTED

CONTENT = " ".join(f"{option} {value.replace(' ', '_')}" for option, value in CREATIVE.items())
BRAND = "--name Example --website https://tools.example.com/ --headline Ship --body A_bot"
BOOK = f"--slot {{slot}} --week {WEEK}"
KEY = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a55"
HOOK = "https://tools.example.com/hook"

READ = json.dumps(dict(zip(SEEN, ("Now", *list(CREATIVE.values())[2:]), strict=True)), separators=(",", ":"))
READ = READ.replace(" ", "_").replace("{", "{{").replace("}", "}}")
"""The content of the campaign as a script has read it."""

BOT = {"name": "Helper", "who": "Clerk", "handle": "@clerk", "job": "Helps.", "templateUrl": "https://example.com/t"}
USECASE = {"title": "Done", "who": "Clerk", "handle": "@clerk", "roi": "Much", "sourceUrl": "https://example.com/s"}


def compact(entry: dict[str, str]) -> str:
    """JSON without spaces, and with braces that `format_map` leaves."""
    return json.dumps(entry, separators=(",", ":")).replace("{", "{{").replace("}", "}}")


SORTER = compact(BOT | {"slug": "sorter"})
EDIT = compact(BOT | {"slug": "bot-01"})
"""An entry for the catalog, and an edit of one."""

BUYER = "--legal-name Example --address Street --country CH --tax-id CHE-1"
STORY = (
    # A command, where its ids are in the response, the name of the first id in later commands, and words for people.
    ("usecases", "data.slug", "case", "case-04  Zebra counting"),
    ("usecases --slug {case}", "slug", "", "Who      A person (@person)\n"),
    ("bots", "data.slug", "bot", "bot-01  Bot bot-01  Finance"),
    ("bots --slug {bot}", "slug", "", "Job       Sorts receipts\n"),
    ("categories", "data.name", "", "Finance   1          23\n"),
    ("mint", "apiKey", "", "Expires      2026-11-21 12:00 UTC\n"),
    ("whoami", "tenantId", "account", "Account  sponsor@example.com\n"),
    ("usage", "tenantId", "", " of 10,000 requests, 9,995 left\n"),
    ("notifications --reports off", "=reviews bookings", "", "Bookings  on\nReports   off\n"),
    ("sponsor profile --name Example --website https://tools.example.com/", "profile.name", "", "Sponsor  Example\n"),
    ("sponsor billing", "", "", "No billing details yet.\n"),
    (f"sponsor set-billing {BUYER}", "", "", "Tax number  CHE-1\n"),
    ("sponsor me", "profile.name", "", "Administrator  yes\n"),
    ("sponsor inventory", "slots.id", "slot", "left  USD 120.00  USD 85.71      1        available\n"),
    ("sponsor rates", "slots.id", "", "USD 120.00      1  2026-11-16  USD 85.71\n"),
    (f"sponsor create-campaign {CONTENT}", "campaign.id", "campaign", "Target    https://tools.example.com/start\n"),
    ("sponsor campaigns", "items.id", "", "Launch  pending  Ship today\n"),
    ("sponsor withdraw {campaign}", "campaign.id", "", "Status    draft\n"),
    ("sponsor edit-campaign {campaign} --headline Now", "campaign.id", "", "Headline  Now\n"),
    ("sponsor submit {campaign}", "campaign.id", "", "Status    pending\n"),
    ("admin reviews", "items.campaign.id", "", "not booked  no    Example"),
    (f"admin approve {{campaign}} --seen {READ}", "campaign.id", "", "Status    approved\n"),
    ("sponsor pause {campaign}", "campaign.id", "", "Status    paused\n"),
    ("sponsor resume {campaign}", "campaign.id", "", "Status    approved\n"),
    (f"sponsor book --campaign {{campaign}} {BOOK}", "booking.id", "booking", "Held until   2026-11-18 12:30 UTC\n"),
    ("sponsor checkout {booking}", "checkoutUrl", "", "Held until  2026-11-18 12:30 UTC\n"),
    ("sponsor cancel {booking}", "booking.id", "", "Status       cancelled\n"),
    (
        f"sponsor start {BRAND} --slot {{slot}} --week 2026-11-30 --idempotency-key {KEY}",
        "booking.id",
        "booking",
        "To           2026-12-07, 00:00 UTC\n",
    ),
    ("sponsor checkout {booking}", "checkoutUrl", "PAID", "Held until  2026-11-18 12:30 UTC\n"),
    ("sponsor bookings", "items.id", "", "2026-11-30  2026-12-07  USD 120.00  paid\n"),
    ("sponsor booking {booking}", "booking.id", "", "Paid         2026-11-18 12:00 UTC\n"),
    (
        "sponsor invoice {booking}",
        "invoices.number",
        "",
        "Buyer    Example, Street, CH, CHE-1, Example, https://tools.example.com/, sponsor@example.com\n",
    ),
    ("sponsor invoices", "items.number", "", "2026-11-18  USD 120.00  USD 0.00  USD 120.00\n"),
    ("sponsor delivery", "items.id", "", "cancelled            0       0\n"),
    ("sponsor delivery {booking}", "booking.id", "", "paid              0       0\n"),
    ("report", "items.bookingId", "", "None of your bookings ran on these days."),
    ("sponsor request-refund {booking} --reason Wrong", "booking.id", "", "Next step     wait for decision\n"),
    ("sponsor placements", "placements.bookingId", "", "There are no placements now.\n"),
    ("sponsor create-key --name A --scopes sponsor:read", "apiKey", "", "Key     cs_scoped_"),
    ("sponsor keys", "items.id", "key", "sponsor:read  2026-11-18\n"),
    ("keys list", "items.id", "", "everything    never    2026-11-18 12:00 UTC\n"),
    ("keys usage", "items.id", "", "2026-11-18        "),
    ("keys rename {key} Nightly", "id", "", "Name     Nightly\n"),
    ("keys expire {key} never", "id", "", "Expires  never\n"),
    ("keys rotate {key} --grace 0", "apiKey", "", "The old key expires  2026-11-18 12:00 UTC\n"),
    ("sponsor revoke-key {key}", "", "", " is revoked.\n"),
    ("keys revoke {key}", "", "", " is revoked.\n"),
    (f"webhooks create {HOOK} --events booking.paid", "secret", "", "Secret   whsec_"),
    ("webhooks list", "items.id", "hook", "enabled                 booking.paid\n"),
    ("webhooks show {hook}", "webhook.id", "", "Status   enabled\n"),
    ("webhooks test {hook}", "delivery.id", "delivery", "Event     webhook.test\n"),
    ("webhooks deliveries {hook}", "items.id", "", "delivered         1  200\n"),
    ("webhooks resend {hook} {delivery}", "delivery.id", "GONE", "Status    waiting\n"),
    ("webhooks enable {hook}", "webhook.id", "", "Status   enabled\n"),
    ("webhooks delete {hook}", "", "", " is deleted.\n"),
    ("admin campaigns", "items.id", "", "Launch   approved  Now       2026-11-18\n"),
    ("admin sponsors", "items.id", "", "https://tools.example.com/  2026-11-18\n"),
    ("admin slots", "items.id", "", "USD 120.00      1  active\n"),
    ("admin audit", "items.id", "", "  payments\n"),
    ("admin accounts", "items.id", "", "claimed  administrator  Example  2026-11-18\n"),
    ("admin accounts person@", "items.id", "person", "claimed  active           2026-11-18\n"),
    ("admin account {person}", "account.id", "", "Requests       0 of 100,000 this month\n"),
    ("admin revoke-key {key}", "", "", " is revoked.\n"),
    ("admin suspend {person} --reason Malware", "account.id", "", "Reason         Malware\n"),
    ("admin unsuspend {person}", "account.id", "", "Since          2026-11-18 12:00 UTC\n"),
    ("admin refund-account {person}", "", "", "There is nothing to refund.\n"),
    ("admin bookings", "items.id", "", "paid       Example  decide refund\n"),
    ("admin decline-refund {booking} --note No", "booking.id", "", "Declined     No\n"),
    ("admin refund {booking}", "booking.id", "", "Status       refunding\n"),
    (f"admin reject {{campaign}} --note No --seen {READ}", "campaign.id", "", "Note      No\n"),
    (f"submit bots --entry {SORTER}", "submission.id", "first", "Status      pending\n"),
    (f"submit bots --entry {EDIT} --slug bot-01", "submission.id", "second", "Edit        yes\n"),
    ("submissions", "items.id", "", "bots  sorter  pending  2026-11-18\n"),
    (
        "admin submissions --status pending --order oldest",
        "items.id",
        "",
        "no    pending  no        sponsor@example.com\n",
    ),
    ("admin decline {first} --seen {firstseen} --note No", "submission.id", "", "Note        No\n"),
    ("admin accept {second} --seen {secondseen}", "submission.id", "", "Status      accepted\n"),
    ("admin revenue", "items.month", "", "1  USD 120.00  USD 120.00  USD 0.00\n"),
    ("admin sites", "items.site", "", "Nothing was counted by website on these days.\n"),
    (f"admin put-usecase made-here {compact(USECASE)}", "useCase.slug", "", "Outcome  Much\n"),
    ("admin usecase made-here", "useCase.slug", "", "Updated  2026-11-18 12:00 UTC\n"),
    ("admin retire-usecase made-here", "useCase.slug", "", "made-here is retired.\n"),
    (f"admin put-bot made-here {compact(BOT)}", "bot.slug", "", "Job       Helps.\n"),
    ("admin retire-bot made-here", "bot.slug", "", "made-here is retired.\n"),
    ("admin bot made-here", "bot.slug", "", "Retired   2026-11-18 12:00 UTC\n"),
)
EMPTY = {"sponsor placements", "report", "admin sites"}
"""Lists that are empty in this story."""
OF_THIS_PROGRAM = {"login", "logout", "listen", "completion bash"}
"""Commands whose result is not a response of the service. They have tests of their own below."""


def leaves(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """All commands of a parser."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield path, parser
    for action in inner:
        for name, each in action.choices.items():
            yield from leaves(each, f"{path} {name}".strip())


def test_every_command_takes_both_options_and_is_in_the_story() -> None:
    commands = dict(leaves(whole_parser()))
    for command, parser in commands.items():
        options = {option for action in parser._actions for option in action.option_strings}
        assert {"--json", "--quiet", "-q", "--url", "--key"} <= options, command
    told = [line.removesuffix(" bash") for line in (*(line for line, *_ in STORY), *OF_THIS_PROGRAM)]
    missing = {command for command in commands if not any(f"{line} ".startswith(f"{command} ") for line in told)}
    assert not missing, "add a line to STORY for each new command"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """The terminal of a sponsor who administers, too."""
    async with open_world() as world:
        world.memory.administrators[EMAIL] = world.now_ms
        add_slot(world)
        sponsor(world, "person@example.com")
        await world.settled()
        yield Desk(Stage(tmp_path / "config"), world)


class Recorded:
    """Keeps the responses of the application, and gives them again."""

    def __init__(self, send: Callable[[Asked], Reply]) -> None:
        self.replies: list[Reply] = []
        self._send = send

    def record(self, asked: Asked) -> Reply:
        self.replies.append(self._send(asked))
        return self.replies[-1]

    def play(self) -> Callable[[Asked], Reply]:
        left = iter(self.replies)
        return lambda asked: next(left)


def found(document: Any, path: str) -> list[str]:
    """The values at a path such as `items.id`."""
    name, _, rest = path.partition(".")
    if not name:
        return []
    value = document[name]
    inner = [value] if not isinstance(value, list) else value
    return [each for one in inner for each in found(one, rest)] if rest else [str(each) for each in inner]


async def test_every_command_prints_words_json_and_ids(desk: Desk) -> None:
    names: dict[str, str] = {}
    for line, path, name, words in STORY:
        given = (
            [word.replace("_", " ") for word in line.split()]
            if "sponsor create" in line or "--seen" in line
            else line.split()
        )
        arguments = [word.format_map(names) for word in given]
        recorded = Recorded(desk._send)
        desk.stage.send = recorded.record
        assert await desk.run(*arguments, "--json") == 0, (line, desk.stage.err)
        documents = [json.loads(each) for each in desk.stage.out.splitlines()]
        assert documents == [reply.document for reply in recorded.replies], line
        assert all({"note", "warning"} & json.loads(each).keys() for each in desk.stage.err.splitlines()), line

        ids = list(dict.fromkeys(path[1:].split() if path.startswith("=") else found(documents[0], path)))
        assert ids or not path or line in EMPTY, line
        desk.stage.send = recorded.play()
        assert await desk.run(*arguments, "-q") == 0, line
        assert desk.stage.out.splitlines() == ids, line
        assert all(each.startswith("Idempotency key: ") for each in desk.stage.err.splitlines()), line

        desk.stage.send = recorded.play()
        assert await desk.run(*arguments) == 0, line
        assert words in desk.stage.out, (line, desk.stage.out)

        await _refused(desk, arguments)
        names[name] = ids[0] if ids else ""
        await _goes_on(desk, name, names)


async def _refused(desk: Desk, arguments: list[str]) -> None:
    """A refusal is the same JSON on standard error; a lost response is one of this program's own."""
    body = b'{"error":"service_unavailable","message":"Later.","retryAfter":7}'
    stage = desk.stage
    refusal = Reply(503, {"retry-after": "7"}, body)
    stage.send = lambda asked: refusal
    for option, last in (
        ("--json", body.decode()),
        ("--quiet", "catalogctl: Later. (service_unavailable; try again in 7 s)"),
    ):
        assert await desk.run(*arguments, option) == 7
        assert (stage.out, stage.err.splitlines()[-1]) == ("", last)

    def lost(asked: Asked) -> Reply:
        raise Unreachable("cannot reach catalog.test: the connection was lost")

    stage.send = lost
    assert await desk.run(*arguments, "--json") == 3
    error = json.loads(stage.err.splitlines()[-1])
    assert (stage.out, error["error"]) == ("", "unreachable")
    assert error["message"].startswith("cannot reach catalog.test: the connection was lost")


async def _goes_on(desk: Desk, name: str, names: dict[str, str]) -> None:
    """Changes the world between the commands of the story."""
    ledger = desk.world.services.ledger
    if name == "PAID":
        row = desk.world.memory.bookings[names["booking"]]
        await ledger.record_payment("evt_1", row.id, "pay_1", row.amount_cents, row.currency)
    elif name in ("first", "second"):
        submission = desk.world.memory.submissions[names[name]]
        names[f"{name}seen"] = submission.version(submission.base)
    elif name == "GONE":
        desk.world.endpoints.status = 410
        await desk.world.settled()
    await desk.world.settled()


# Commands whose result is not a response.


@pytest.mark.parametrize(
    ("option", "out"),
    [
        ("--json", '{"service": "URL", "keyPrefix": "cs_user_secr", "tenantId": "ten_1"}\n'),
        ("--quiet", "cs_user_secr\n"),
    ],
)
def test_a_login_prints_its_result_in_each_format_and_the_code_in_any(stage: Stage, option: str, out: str) -> None:
    with scripted(STARTED, PENDING, GRANT) as server:
        assert stage.run("login", "--url", server.url, option) == 0
        assert stage.out == out.replace("URL", server.url)
        assert saved(stage) == {server.url: "cs_user_secretsecret"}
        first = stage.err.splitlines()[0]
        if option == "--json":
            assert json.loads(first) == {
                "verificationUri": START["verification_uri"],
                "verificationUriComplete": START["verification_uri_complete"],
                "userCode": START["user_code"],
                "expiresInSeconds": START["expires_in"],
            }
            assert all(json.loads(line).keys() == {"note"} for line in stage.err.splitlines()[1:])
        else:
            assert first == f"Open   {START['verification_uri']}"
        assert stage.run("logout", option) == 0
        deleted = {"deleted": [{"service": server.url, "keyPrefix": "cs_user_secr"}]}
        assert stage.out == (f"{json.dumps(deleted)}\n" if option == "--json" else "")
        assert saved(stage) == {}


def test_a_login_that_was_denied_has_its_error_code_as_json(stage: Stage) -> None:
    with scripted(STARTED, refuses(400, "access_denied")) as server:
        assert stage.run("login", "--url", server.url, "--json") == 1
    assert json.loads(stage.err.splitlines()[-1]) == {
        "error": "access_denied",
        "message": "the login was denied in the browser",
    }


def test_a_completion_script_is_printed_in_each_format(stage: Stage) -> None:
    script = completion_script(whole_parser(), "bash")
    assert stage.run("completion", "bash", "--json") == 0
    assert json.loads(stage.out) == {"shell": "bash", "script": script}
    assert stage.run("completion", "bash", "--quiet") == 0
    assert stage.out.rstrip("\n") == script.rstrip("\n")


@pytest.mark.parametrize(
    ("words", "error", "code"),
    [
        ("bots --limit 0 --json", "invalid_command", 2),
        ("--json nothing", "invalid_command", 2),
        ("usage --json", "not_logged_in", 5),
        ("bots --json --quiet", "invalid_command", 2),
        ("admin audit --csv --json", "invalid_command", 2),
    ],
)
def test_errors_of_this_program_are_json_too(stage: Stage, words: str, error: str, code: int) -> None:
    stage.environment = {"CATALOGCTL_KEY": "cs_user_variable"} if error == "invalid_command" else {}
    assert stage.run(*words.split()) == code
    told = json.loads(stage.err)
    assert (told.keys(), told["error"]) == ({"error", "message"}, error)


def test_a_page_of_ids_is_printed_as_it_comes_without_hints(stage: Stage) -> None:
    pages = [Reply(200, {}, json.dumps({"data": [{"slug": name}], "nextCursor": more}).encode()) for name, more in
             (("a", "1"), ("b\x1b[2J", None))]  # fmt: skip
    left = iter(pages)
    stage.send = lambda asked: next(left)
    assert stage.run("bots", "--all", "-q", "--url", URL) == 0
    assert (stage.out, stage.err) == ("a\nb\ufffd[2J\n", "")
    left = iter(pages)
    assert stage.run("bots", "-q", "--url", URL) == 0
    assert (stage.out, stage.err) == ("a\n", "")


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"items": [], "counting": False}, "events.count_sites is off."),
        (
            {"items": [{"site": "a.example", "impressions": 3, "clicks": 1, "sharePercent": 33.3}], "counting": True},
            "a.example 3 33.3 1",
        ),
    ],
)
def test_websites_are_shown_with_their_share(stage: Stage, answer: dict[str, object], line: str) -> None:
    stage.environment = {"CATALOGCTL_KEY": "cs_a"}
    stage.send = lambda asked: Reply(200, {}, json.dumps(answer).encode())
    stage.run("admin", "sites", "--url", URL)
    assert stage.out.splitlines()[-1].split() == line.split()


def test_ids_are_found_wherever_a_response_has_them() -> None:
    assert ids_of({"apiKey": "cs_1", "id": "key_1"}) == ["cs_1"]
    assert ids_of({"key": {"id": "key_1", "name": "A"}, "other": {"id": "b"}}) == ["key_1"]
    assert ids_of({"cursor": None, "items": [{"id": "a"}, {"id": "a"}, {"other": {"id": "b"}}, {"count": 1}]}) == [
        "a",
        "b",
    ]
    assert ids_of({"placements": [{"bookingId": "bkg_1", "sponsorName": "A"}]}) == ["bkg_1"]
    assert ids_of({"from": 1, "items": [{"site": "example.com", "clicks": 1}]}) == ["example.com"]
    assert ids_of({"from": "2026-11-01", "items": [{"bookingId": "bkg_1"}], "slots": [{"slot": "A"}]}) == ["bkg_1"]
    assert ids_of({"data": [], "others": [{"slug": "a", "id": "b"}]}) == ["b"]
    for nothing in ({}, {"ok": True}, {"id": None}, {"items": ["a", 1]}, {"id": {"a": 1}}, {"id": True}):
        assert ids_of(nothing) == []
