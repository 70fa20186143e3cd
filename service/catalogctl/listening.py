"""Reads the feed of an account's events: prints them, or posts them to a program as a webhook does.

`Pace` decides when to read again; it never sleeps. The signature is that of Standard Webhooks.
"""

import hmac
import json
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from service.catalogctl.account_commands import seconds
from service.catalogctl.client import JSON, Asked, Reply, is_page
from service.catalogctl.command import ROOT
from service.catalogctl.failures import Exit, Failure, Misused, Unreachable
from service.catalogctl.lists import Entry, entries_of
from service.catalogctl.session import Format, Session
from service.terminal.layout import harmless, harmless_json

PATH = f"{ROOT}sponsors/webhook-events"
PAGE = 50
TO_COME_MS = 253_402_300_799_999
"""A time after every event: the feed then begins after the newest one."""

EVENTS = (
    "booking.reserved",
    "booking.paid",
    "booking.cancelled",
    "booking.refunded",
    "booking.expired",
    "campaign.approved",
    "campaign.rejected",
    "delivery.day",
)

SOON_SECONDS, IDLE_SECONDS, LONGEST_SECONDS = 2.0, 10.0, 60.0
"""The pause after an event; the longest while nothing happens; the longest while requests fail."""
PASSING = (Exit.UNREACHABLE, Exit.UNAVAILABLE, Exit.LIMITED)
"""Failures after which the command goes on."""


@dataclass(slots=True)
class Pace:
    """The pauses between two requests, in seconds."""

    pause: float = SOON_SECONDS
    failures: int = 0

    def after(self, events: int) -> float:
        self.failures = 0
        self.pause = SOON_SECONDS if events else min(1.5 * self.pause, IDLE_SECONDS)
        return self.pause

    def after_failure(self, wait_seconds: int) -> float:
        """The pause doubles, and is as long as the service asks for."""
        self.failures += 1
        doubled: float = SOON_SECONDS * 2 ** min(self.failures, 10)
        return max(min(doubled, LONGEST_SECONDS), wait_seconds)


def secret_of(key: str) -> bytes:
    """The bytes of the signing secret. They follow from the key, so that a receiver keeps its setting, and do not tell it."""
    return hmac.digest(key.encode(), b"events that catalogctl forwards", "sha256")


def forwarded(event: Entry, url: str, secret: bytes, at: int) -> Asked:
    """The request that a webhook would get at `at`, in seconds since the epoch. The body is the same, byte for byte."""
    envelope = {name: event.get(name) for name in ("type", "timestamp", "data")}
    body = json.dumps(envelope, ensure_ascii=False, separators=(",", ":")).encode()
    event_id = str(event.get("id"))
    signature = b64encode(hmac.digest(secret, b"%s.%d.%s" % (event_id.encode(), at, body), "sha256")).decode()
    headers = {"webhook-id": event_id, "webhook-timestamp": str(at), "webhook-signature": f"v1,{signature}"}
    return Asked("POST", url, body, JSON, headers=headers)


@dataclass(slots=True)
class _Listener:
    """The state of a command that listens. `cursor` is the place after the last page that was handled."""

    session: Session
    url: str | None
    wanted: list[str]
    secret: bytes
    cursor: str = ""

    def listen(self, query: dict[str, Any]) -> None:
        """Handle pages of the feed until it is interrupted. Raises `Failure` if the service refuses to go on."""
        pace = Pace()
        reply = self._page(query)
        self._greet()
        while True:
            events = self._handle(reply)
            if not reply.document.get("hasMore"):
                self.session.outside.sleep(pace.after(events))
            reply = self._next(pace)

    def _next(self, pace: Pace) -> Reply:
        """The next page, however often reading it fails for a reason that passes."""
        while True:
            try:
                return self._page({"cursor": self.cursor})
            except Failure as failure:
                if failure.code not in PASSING or failure.error == "quota_exhausted":
                    raise
                self.session.printer.warn(str(failure))
                self.session.outside.sleep(pace.after_failure(_wait_of(failure)))

    def _page(self, query: dict[str, Any]) -> Reply:
        reply = self.session.client.ask("GET", PATH, {**query, "limit": PAGE})
        if not isinstance(reply.document.get("cursor"), str):
            raise Unreachable("the response has no cursor")
        return reply

    def _greet(self) -> None:
        self.session.printer.note(f"Listening to events of {self.session.base}. Ctrl-C ends.")
        if self.url is not None:
            self.session.printer.note(f"Signing secret: whsec_{b64encode(self.secret).decode()}")

    def _handle(self, reply: Reply) -> int:
        """Print or forward the events of a page. Returns how many there were."""
        events = entries_of(reply, "items")
        for event in events:
            if not self.wanted or event.get("type") in self.wanted:
                self._print(event) if self.url is None else self._forward(event, self.url)
        self.cursor = reply.document["cursor"]
        return len(events)

    def _print(self, event: Entry) -> None:
        is_id = self.session.printer.format is Format.IDS
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
        self.session.printer.write(harmless(str(event.get("id"))) if is_id else harmless_json(line))
        self.session.outside.out.flush()

    def _forward(self, event: Entry, url: str) -> None:
        outside = self.session.outside
        try:
            outcome = str(outside.send(forwarded(event, url, self.secret, int(outside.wall()))).status)
        except Unreachable as error:
            outcome = str(error)
        self.session.printer.note(harmless(f"{event.get('id')} {event.get('type')}: {outcome}"))


def _wait_of(failure: Failure) -> int:
    """The seconds that the service asks to wait, or 0."""
    asked = Reply(0, {}, failure.body).document.get("retryAfter")
    return asked if isinstance(asked, int) and not isinstance(asked, bool) else 0


def listen(session: Session) -> None:
    """Run the command `listen`. Raises `Failure`."""
    url, cursor, since = session.option("forward"), session.option("cursor"), session.option("since")
    wanted = session.option("events") or []
    if url is not None and not is_page(url):
        raise Misused(f"--forward must be an address such as http://127.0.0.1:3000/webhooks, not {url!r}")
    if unknown := [name for name in wanted if name not in EVENTS]:
        raise Misused(f"--events: there is no event {unknown[0]!r}; events are {', '.join(EVENTS)}")
    if cursor is not None and since is not None:
        raise Misused("--cursor and --since cannot be combined")
    begins_ms = TO_COME_MS if since is None else int(session.outside.wall() - seconds(since, "--since")) * 1_000
    query = {"since": max(0, begins_ms)} if cursor is None else {"cursor": cursor}
    listener = _Listener(session, url, wanted, secret_of(session.client.key or ""))
    try:
        listener.listen(query)
    except KeyboardInterrupt:
        if listener.cursor:
            session.printer.note(f"Go on after the last event: --cursor {harmless(listener.cursor)}")
