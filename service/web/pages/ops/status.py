"""The health of the node that answers, for operators. The page works without the database, too."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from actors.clock import SECOND_MS
from service.terminal.output import duration
from service.web.pages.parts.page import Audience, Page, PageRequest, Template
from service.web.pages.parts.words import counted, number

PARTS: Mapping[str, str] = {
    "keys": "Makes and ends keys",
    "directory": "Looks up keys",
    "session_reader": "Looks up sessions",
    "devices": "Signs devices in",
    "sessions": "Signs people in and out",
    "passkeys": "Keeps passkeys",
    "accounts": "Changes and deletes accounts",
    "quota": "Counts the requests of keys",
    "bookings": "Holds, sells and refunds weeks",
    "catalog_editor": "Changes entries of the catalog",
    "submissions": "Stores and reviews what accounts propose for the catalog",
    "webhook_keeper": "Keeps the webhooks of sponsors",
    "events": "Counts views and clicks",
    "windows": "Recognizes events that were counted",
    "mail": "Sends mails",
    "webhooks": "Calls the webhooks of sponsors",
}
"""The task of each actor. A deduper of several is called `events_1`, and so on."""

NEARLY_FULL = 0.8
"""The share of its capacity from which a queue is in trouble."""

MAX_REASONS = 20
MAX_RECENT = 30
"""Rows of the tables of refusals. Anybody can cause refusals of every kind, and the operation has all of them."""

MAIL_LATE_SECONDS = 300
"""The age of a waiting mail that is trouble: the first attempts of one take less."""


class Part(NamedTuple):
    """An actor, what it does, and its state as a tone and words."""

    actor: Mapping[str, Any]
    does: str
    tone: str
    state: str


class Tile(NamedTuple):
    """A figure at a glance. `tone` is `good`, `warm` or `bad`, which `state` says in a word. `limit` says when it is not
    good, and `hour` is the load of the last hour of that name."""

    name: str
    tone: str
    state: str
    value: str
    under: str
    limit: str
    hour: str

    def in_words(self, counts: Sequence[int | None]) -> str:
        """The load of the last hour in words."""
        known = [count for count in counts if count is not None]
        most = f"at most {number(max(known, default=0))}"
        if self.hour in ("busy", "mails"):
            return f"{self.name} in the last hour: {most}."
        return f"{self.name} in the last hour: {number(sum(known))}, {most} in two minutes."


class Trouble(NamedTuple):
    """Something to look at: what it is, what it means and what to do."""

    what: str
    remedy: str


async def ops(request: PageRequest) -> Template:
    status = (await request.ask("getOperationsStatus")).or_raise()
    hour = (await request.ask("readLoad")).or_raise()
    parts = parts_of(status["actors"])
    troubles = list(troubles_of(status, parts))
    values = {
        "status": status,
        "now_ms": status["node"]["now"],
        "uptime": duration(status["node"]["uptimeSeconds"]),
        "uptimes": [duration((status["node"]["now"] - node["startedAt"]) // SECOND_MS) for node in status["liveNodes"]],
        "reports": [f"{node['beatAgeSeconds']} s ago" for node in status["liveNodes"]],
        "parts": parts,
        "hour": hour,
        "tiles": tiles_of(status),
        "troubles": troubles,
        "reasons": status["refusals"]["lastHour"][:MAX_REASONS],
        "fewer": sum(each["count"] for each in status["refusals"]["lastHour"][MAX_REASONS:]),
        "recent": status["refusals"]["recent"][:MAX_RECENT],
    }
    return Template("ops.html", values)


def parts_of(actors: Sequence[Mapping[str, Any]]) -> list[Part]:
    """The actors of a status, those in trouble first."""
    return sorted(map(_part, actors), key=lambda part: part.tone == "good")


def _part(actor: Mapping[str, Any]) -> Part:
    does = PARTS.get(actor["name"]) or PARTS.get(actor["name"].partition("-")[0], "")
    full = actor["waiting"] >= NEARLY_FULL * max(1, actor["capacity"])
    if actor["state"] == "running" and actor["accepting"]:
        tone, state = ("warm", "Nearly full") if full else ("good", "Running")
    else:
        tone, state = "bad", {"new": "Starting", "failed": "Failed", "stopped": "Stopped"}.get(actor["state"], "Closed")
    return Part(actor, does, tone, state)


def troubles_of(status: Mapping[str, Any], parts: Sequence[Part]) -> Iterable[Trouble]:
    """The troubles that operators should look at; those that make the process unready come first."""
    for problem in status["problems"]:
        meaning = (
            "This process stays ready, because it records events on other servers."
            if status["ready"]
            else "This process answers /readyz with 503, so balancers send it no requests."
        )
        yield Trouble(f"{problem[0].upper()}{problem[1:]}.", f"{meaning} Nothing that was answered is lost.")
    for part in parts:
        if part.state == "Nearly full":
            yield Trouble(
                f"The queue of {part.actor['name']} is nearly full.",
                "Once it is full, requests get 503 with the time to try again. Look at the time to save: if it is "
                "long, the database is slow; otherwise add a process.",
            )
    if status["mail"]["oldestSeconds"] >= MAIL_LATE_SECONDS:
        waiting = counted(status["mail"]["waiting"], "mail waits", "mails wait")
        yield Trouble(
            "Mail is not going out.",
            f"{waiting}, the oldest for {duration(int(status['mail']['oldestSeconds']))}. Each mail is tried again, so none "
            "is lost yet. Sign-in codes are affected. Check the section [mail] of the configuration and the log.",
        )
    for server in status["eventServers"]:
        if not server["available"] or server["problems"]:
            yield Trouble(
                f"The event server {server['name']} is in trouble.",
                "; ".join(server["problems"]) or "It does not answer. Its events get 503; all others are recorded.",
            )
    for snapshot in status["snapshots"]:
        if snapshot["away"]:
            yield Trouble(
                f"The copy of the {snapshot['name']} may be out of date.",
                "The database does not answer, so pages and lists show what was last known.",
            )


def tiles_of(status: Mapping[str, Any]) -> list[Tile]:
    """The six figures at a glance."""
    answers, database, events = status["answers"], status["database"], status["events"]
    mail, refused = status["mail"], sum(each["count"] for each in status["refusals"]["lastHour"])
    full = database["waiting"] > 0
    late = mail["oldestSeconds"] >= MAIL_LATE_SECONDS
    return [
        Tile("Requests", "good", "Good", number(answers["count"]), _speed(answers), "", "requests"),
        Tile(
            "Failures",
            *(("warm", "Look") if answers["failures"] else ("good", "Good")),
            f"{number(answers['failures'])} of {number(answers['count'])}",
            "Requests that this process answered with 5xx since it started",
            "Look: from the first one",
            "failures",
        ),
        Tile(
            "Database",
            *(("warm", "Busy") if full else ("good", "Good")),
            f"{database['busy']} of {database['open']} in use",
            f"Connections. {counted(database['waiting'], 'change waits', 'changes wait')} for one"
            if full
            else f"Connections. {counted(database['transactions'], 'transaction')} since the start",
            "Busy: while a change waits for a connection",
            "busy",
        ),
        Tile(
            "Mail",
            *(("warm", "Late") if late else ("good", "Good")),
            f"{number(mail['waiting'])} waiting",
            f"The oldest for {duration(int(mail['oldestSeconds']))}" if mail["waiting"] else "Every mail is sent",
            f"Late: once a mail has waited for {duration(MAIL_LATE_SECONDS)}",
            "mails",
        ),
        Tile(
            "Views and clicks",
            *(("warm", "Look") if events["unavailable"] else ("good", "Good")),
            f"{number(events['recorded'])} counted",
            f"{number(events['duplicate'])} were counted before, {number(events['unavailable'])} could not be recorded",
            "Look: once an event could not be recorded",
            "recorded",
        ),
        Tile(
            "Refused",
            "good",
            "Good",
            number(refused),
            "Requests that were refused in the last hour",
            "",
            "refusals",
        ),
    ]


def _speed(answers: Mapping[str, Any]) -> str:
    half, most = answers.get("halfWithinMs"), answers.get("mostWithinMs")
    if half is None:
        return "Answered since this process started"
    return f"Half answered within {_bound(half)}, 99 of 100 within {'more than 10 s' if most is None else _bound(most)}"


def _bound(milliseconds: float) -> str:
    return f"{milliseconds:g} ms" if milliseconds < SECOND_MS else f"{milliseconds / SECOND_MS:g} s"


PAGES = (Page("/ops", ops, who=Audience.ADMIN),)
