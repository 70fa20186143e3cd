"""The import graph of the product, read from the source, and the rules that `test_architecture` holds it to."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("service", "actors", "storage")
ROOMS = (
    "http",
    "process",
    "cli",
    "api",
    "web",
    "schemas",
    "payments",
    "outside",
    "running",
    "snapshots",
    "tokens",
    "observability",
    "seed",
    "config",
    "terminal",
)
"""The rooms of `service/`. `catalogctl` is a program of its own."""


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def graph() -> Mapping[str, frozenset[str]]:
    """For each module of the product, the modules it imports: those of the product by their own name, others by theirs."""
    files = {name_of(path): path for path in modules(*PACKAGES)}
    return {name: frozenset(_imported(path, files)) for name, path in files.items()}


def _imported(path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in files else str(node.module)


def reachable(name: str) -> set[str]:
    """The modules that `name` imports, directly or through others, also those that a function imports when it is called."""
    edges, found, waiting = graph(), {name}, [name]
    while waiting:
        fresh = edges.get(waiting.pop(), frozenset()) - found
        found |= fresh
        waiting += fresh
    return found


def arrows(place: str, *opened: str) -> dict[str, set[str]]:
    """The rooms directly within `place`, modules and packages, each with the rooms that it imports. A package in `opened` is
    replaced by the rooms within it."""

    def room_of(name: str) -> str | None:
        if name == place or not within(name, place):
            return None
        room = name.split(".")[: place.count(".") + 2]
        while ".".join(room) in opened and name != ".".join(room):
            room = name.split(".")[: len(room) + 1]
        return ".".join(room)

    rooms: dict[str, set[str]] = {room: set() for name in graph() if (room := room_of(name))}
    for name, imports in graph().items():
        for other in imports & graph().keys():
            first, second = room_of(name), room_of(other)
            if first and second and first != second:
                rooms[first].add(second)
    return rooms


def cycles(edges: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The import cycles of a graph: its strongly connected components of more than one member (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in edges[name]:
            if other in edges and other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(sorted(component))

    for name in edges:
        if name not in order:
            visit(name)
    return found


@dataclass(frozen=True, slots=True)
class Rule:
    """Modules within `where` import nothing within `never`, apart from what lies within `but`. `why` is the reason."""

    where: str
    never: tuple[str, ...]
    why: str
    but: tuple[str, ...] = ()

    def breaches(self) -> list[str]:
        return [
            f"{name} imports {other}"
            for name, imports in graph().items()
            if within(name, self.where)
            for other in sorted(imports)
            if within(other, *self.never) and not within(other, self.where, *self.but)
        ]

    def __str__(self) -> str:
        but = f" but {', '.join(self.but)}" if self.but else ""
        return f"{self.where} imports nothing of {', '.join(self.never)}{but}: {self.why}"


FRAMEWORKS = ("quart", "quart_trio", "werkzeug", "hypercorn")
DRIVERS = ("asyncio", "asyncpg", "trio_asyncio")
VALUES = (
    "actors.shared.announcements",
    "actors.values",
    "actors.shared.notices",
    "actors.clock",
    "actors.shared.browsers",
    "actors.shared.dates",
    "actors.shared.money",
    "actors.times",
    "actors.times",
    "actors.catalog.messages",
    "actors.catalog.submissions",
    "actors.bookings.records",
    "actors.bookings.invoices",
    "actors.bookings.payments",
    "actors.bookings.prices",
    "actors.bookings.reports",
    "actors.bookings.store",
    "actors.bookings.transitions",
    "actors.bookings.next_steps",
    "actors.mail.internet",
    "actors.events.messages",
    "actors.mail.messages",
    "actors.devices.messages",
    "actors.webhooks.messages",
    "actors.webhooks.store",
)
"""Modules of `actors` that hold values and ports, and no behaviour of an actor."""

RULES = (
    Rule(
        "service.http", PACKAGES, "the engine is a leaf, for any ASGI application", but=("actors.clock", "actors.times")
    ),
    Rule("service.schemas", PACKAGES, "wire models are values", but=VALUES),
    Rule("service.tokens", PACKAGES, "a token does not know what it opens", but=VALUES),
    Rule(
        "service.outside",
        PACKAGES,
        "a transport does not know the outbox, and not the sender of webhooks",
        but=("service.version", "actors.sessions.relying_party", "actors.sessions.second_factor", *VALUES),
    ),
    Rule("service.snapshots", ("service.api", "service.web", "storage"), "a snapshot does not know its readers"),
    Rule("service.observability", ("service.api", "service.web", "storage"), "it records what it is passed"),
    Rule("service.seed", ("service.api", "service.web", "storage"), "sample data does not know its readers"),
    Rule("service.payments", ("service.api", "service.web", "storage"), "a gateway does not know its callers"),
    Rule(
        "service.api",
        ("service.web", "service.cli", "service.process", "service.running", "storage", *FRAMEWORKS),
        "operations run under any server, over any store",
    ),
    Rule(
        "service.web", ("service.cli", "service.process", "service.running", "storage"), "the edge is wired by others"
    ),
    Rule("service.web.pages", ("actors",), "pages reach state through operations only", but=VALUES),
    Rule("service.process", ("service.cli", "service.web", "service.api"), "a worker does not load commands"),
    Rule("service.running", ("service.cli", "service.process"), "a node does not know who started it"),
    Rule(
        "service.running.foundation",
        ("service.running.node", "service.running.assembly", "service.api", "service.web"),
        "commands and parents use it, and serve nothing",
    ),
    Rule("service.running.assembly", ("service.web", "storage"), "stores are arguments"),
    Rule("service.terminal", (*PACKAGES, *FRAMEWORKS, "trio", "pydantic"), "every program stands on it"),
    Rule(
        "service.catalogctl",
        (*PACKAGES, *FRAMEWORKS, "trio", "pydantic"),
        "it runs on Python alone",
        but=("service.terminal", "service.version"),
    ),
    Rule("actors", ("storage", "service", *FRAMEWORKS, *DRIVERS, "pydantic"), "actors know neither HTTP nor SQL"),
    Rule("storage", ("service", *FRAMEWORKS, "pydantic"), "storage serves actors, not the edge"),
)
