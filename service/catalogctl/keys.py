"""Keys of the account: list them with their usage, rename, extend, rotate and revoke scoped ones."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

from service.catalogctl.buying import revoke_key
from service.catalogctl.failures import Exit, Failure, Misused, Unreachable
from service.catalogctl.paging import entries_of
from service.catalogctl.session import Session
from service.catalogctl.sponsoring import DAY_MS, EPOCH, at
from service.catalogctl.tables import Column
from service.catalogctl.texts import day, moment, shown

ACCOUNT = "/api/v1/account"
KEYS = (
    Column("ID", whole=True),
    Column("NAME"),
    Column("PREFIX", whole=True),
    Column("CAN DO"),
    Column("EXPIRES", whole=True),
    Column("LAST USED", whole=True),
)
USAGE = (
    Column("ID", whole=True),
    Column("NAME"),
    Column("DAY", whole=True),
    Column("REQUESTS", whole=True, right=True),
)
KEY = {"Id": "id", "Name": "name", "Prefix": "keyPrefix", "Scopes": "scopes"}
NEVER = "never"
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SPAN = re.compile(r"([0-9]{1,9})([smhd]?)", re.ASCII)


def list_keys(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("GET", f"{ACCOUNT}/keys")
    rows = [
        [
            *(shown(key.get(name)) for name in ("id", "name", "keyPrefix")),
            shown(key["scopes"]) if "scopes" in key else "everything",
            _end(key.get("expiresAt")),
            "never" if "lastUsedAt" not in key else moment(key["lastUsedAt"]),
        ]
        for key in entries_of(reply, "items")
    ]
    session.show(reply, session.table(KEYS, rows, "No keys."))


def rename(session: Session) -> None:
    _edit(session, {"name": session.options.name})


def expire(session: Session) -> None:
    """Move the end of a key to the beginning of a day in UTC, or take it away."""
    text = session.options.when
    if text == NEVER:
        _edit(session, {"expiresAt": None})
        return
    try:
        day_of = date.fromisoformat(text)
    except ValueError:
        raise Misused(f"the end must be {NEVER} or a date, such as 2026-12-28, not {text!r}") from None
    _edit(session, {"expiresAt": (day_of - EPOCH).days * DAY_MS})


def _edit(session: Session, body: dict[str, object]) -> None:
    session.needs_key()
    with _scoped_only():
        reply = session.client.ask("PATCH", at("keys", session.options.id), body=body)
    key = reply.document
    facts = {title: shown(key.get(field)) for title, field in KEY.items()}
    session.show(reply, session.facts(facts | {"Expires": _end(key.get("expiresAt"))}))


def rotate(session: Session) -> None:
    """Replace a key and print the new one."""
    session.needs_key()
    key_id, grace = session.options.id, _seconds(session.options.grace)
    try:
        with _scoped_only():
            reply = session.client.ask("POST", at("keys", key_id, "rotate"), body={"graceSeconds": grace})
    except Unreachable as error:
        lost = "the key may have been rotated; if catalogctl keys list shows a new key, rotate that one to see its text"
        raise Unreachable(f"{error}; {lost}") from None
    fresh = reply.document
    facts = {title: shown(fresh.get(field)) for title, field in KEY.items() if field != "keyPrefix"}
    ends = {"Expires": _end(fresh.get("expiresAt")), "The old key ends": moment(fresh.get("previousEndsAt"))}
    session.show(reply, session.facts(facts | {"Key": shown(fresh.get("apiKey"))} | ends))
    session.hint("The key is shown only once.")


def revoke(session: Session) -> None:
    with _scoped_only():
        revoke_key(session)


@contextmanager
def _scoped_only() -> Iterator[None]:
    """Explain a key that is not found: the list has full keys, too, and no key changes those."""
    try:
        yield
    except Failure as failure:
        if failure.code is Exit.NOT_FOUND:
            failure.details = ["only scoped keys are changed here; full keys are changed on the dashboard"]
        raise


def show_usage(session: Session) -> None:
    """Show the requests of each key by day."""
    session.needs_key()
    reply = session.client.ask("GET", f"{ACCOUNT}/usage/keys", {"days": session.options.days})
    rows = [
        [shown(key.get("id")), shown(key.get("name")), day(of_day.get("day")), shown(of_day.get("used"))]
        for key in entries_of(reply, "items")
        for of_day in key.get("days", [])
    ]
    others = [["ended keys", "", day(each.get("day")), shown(each.get("used"))] for each in entries_of(reply, "other")]
    session.show(reply, session.table(USAGE, rows + others, "No requests."))


def _end(moment_ms: object) -> str:
    return NEVER if moment_ms is None else moment(moment_ms)


def _seconds(text: str) -> int:
    """The seconds of `90`, `90s`, `15m`, `1h` or `7d`."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise Misused(f"--grace must be a time such as 0, 1h or 7d, not {text!r}")
    return int(found[1]) * UNITS.get(found[2], 1)
