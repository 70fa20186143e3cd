"""The commands of an account's keys and webhooks."""

import re
from datetime import date

from service.catalogctl.client import Reply
from service.catalogctl.command import argument, command, done, facts, names, table
from service.catalogctl.failures import Misused
from service.catalogctl.lists import entries_of
from service.catalogctl.session import Session
from service.catalogctl.sponsor_commands import DAY_MS, EPOCH, ONCE

NEVER = "never"
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SPAN = re.compile(r"([0-9]{1,9})([smhd]?)", re.ASCII)


def end_ms(text: str) -> int | None:
    """The type of a key's expiry: the beginning of a day in UTC, or None for never."""
    if text == NEVER:
        return None
    try:
        return (date.fromisoformat(text) - EPOCH).days * DAY_MS
    except ValueError:
        raise Misused(f"the expiry must be {NEVER} or a date, such as 2026-12-28, not {text!r}") from None


def seconds(text: str, option: str = "--grace") -> int:
    """The value of an option that is a time, in seconds, such as `90`, `90s`, `15m`, `1h` or `7d`."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise Misused(f"{option} must be a time such as 0, 1h or 7d, not {text!r}")
    return int(found[1]) * UNITS.get(found[2], 1)


KEY = facts("Id: id; Name: name; Prefix: keyPrefix; Scopes: scopes; Expires: expiresAt moment | never")
ROTATED = facts(
    """Id: id; Name: name; Scopes: scopes; Key: apiKey; Expires: expiresAt moment | never;
    The old key expires: previousEndsAt moment"""
)
ALL_KEYS = table(
    """ID*: id; NAME: name; PREFIX*: keyPrefix; SCOPES: scopes | everything; EXPIRES*: expiresAt moment | never;
    LAST USED*: lastUsedAt moment | never""",
    "No keys.",
)
USAGE = table("ID*: id; NAME: name; DAY*: day day; REQUESTS>: used", "No requests.")


def _show_usage(session: Session, reply: Reply) -> list[str]:
    """The requests of each key by day, then those of keys that no longer exist."""
    of_keys = [{**key, **of_day} for key in entries_of(reply, "items") for of_day in key.get("days", [])]
    ended = [{**of_day, "id": "other keys"} for of_day in entries_of(reply, "other")]
    return USAGE.lines(session, of_keys + ended)


SCOPED = "only scoped keys are changed here; full keys are changed on the dashboard"
# fmt: off
KEYS = (
    command("list", "GET account/keys", "List the keys of the account.", ALL_KEYS),
    command("rename", "PATCH sponsors/keys/{id}", "Rename a scoped key.", KEY, argument("NAME", "the new name"),
            missing=SCOPED),
    command("expire", "PATCH sponsors/keys/{id}", "Set when a scoped key expires, or that it never does.", KEY,
            argument("WHEN", f"a date (00:00 UTC), such as 2026-12-28, or {NEVER}", "expiresAt", type=end_ms),
            missing=SCOPED),
    command("rotate", "POST sponsors/keys/{id}/rotate", "Replace a scoped key; the new one is shown only once.",
            ROTATED,
            argument("--grace TIME", "how long the old key works: 0, 1h, 7d; default: 1d", "graceSeconds",
                     read=seconds, default="1d"),
            then=ONCE, missing=SCOPED,
            lost="the key may have been rotated; if catalogctl keys list shows a new key, rotate that one to see its text"),
    command("revoke", "DELETE sponsors/keys/{id}", "Revoke a scoped key permanently, the same as sponsor revoke-key.",
            done("id", "is revoked"), missing=SCOPED),
    command("usage", "GET account/usage/keys", "Show the requests of each key by day.", _show_usage,
            argument("--days N", "the last days, 1 to 90; default: 30")),
)
# fmt: on

_HOOK = "Webhook: id; URL: url; Events: events; Status: status; Why off: disabledReason"
HOOK, NEW_HOOK = facts(_HOOK, "webhook"), facts(f"{_HOOK}; Secret: secret", "webhook")
HOOKS = table(
    "WEBHOOK*: id; URL: url; STATUS*: status; FAILING SINCE: failingSince moment; EVENTS: events", "No webhooks."
)
DELIVERY = facts("Delivery: id; Event: type; Event id: eventId; Status: status", "delivery")
DELIVERIES = table(
    """DELIVERY*: id; EVENT*: type; CREATED: createdAt moment; STATUS*: status; ATTEMPTS>: attempts;
    ANSWER: error/responseStatus""",
    "Nothing was sent yet.",
)
_AT = "sponsors/webhooks/{webhook}"
# fmt: off
WEBHOOKS = (
    command("list", "GET sponsors/webhooks", "List your webhooks.", HOOKS),
    command("create", "POST sponsors/webhooks", "Create a webhook; its secret is shown only once.", NEW_HOOK,
            argument("ADDRESS", "where to post, such as https://tools.example.com/hook", "url"),
            argument("--events=", "events, separated by commas, such as booking.paid,campaign.approved",
                     type=names, required=True),
            then="Keep the secret: it is shown only once."),
    command("resend", f"POST {_AT}/deliveries/{{delivery}}/resend", "Send a delivery again.", DELIVERY),
    command("show", f"GET {_AT}", "Show one webhook.", HOOK),
    command("deliveries", f"GET {_AT}/deliveries", "List what was sent to a webhook, newest first.", DELIVERIES,
            paged=True),
    command("test", f"POST {_AT}/test", "Send a test event.", DELIVERY),
    command("enable", f"POST {_AT}/enable", "Turn a webhook on that the service has turned off.", HOOK),
    command("delete", f"DELETE {_AT}", "Delete a webhook with its deliveries.", done("webhook", "is deleted")),
)
# fmt: on
