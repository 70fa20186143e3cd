"""The history of a run in the judge's format: each client writes what it asked and was answered before it goes on."""

import gc
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.clients import Reply
from tests.acceptance.prepared import REPOSITORY
from tests.judge.judging import judge, report
from tests.judge.lines import read_history
from tests.judge.recording import Recorder, exchange_of, running_clock
from tests.judge.records import VERSION, Header

FOLDER = REPOSITORY / "build" / "histories"
"""The folder of histories, one file for each kind of run or seed."""

HERE = "127.0.0.1"
"""The address from which nodes see all clients."""


now_ms = running_clock()
"""The one clock of all histories of this process."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it was sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Recording:
    """One history of all clients. Without an `address`, visitors of the unit day are not told apart."""

    path: Path
    recorder: Recorder
    address: str = HERE
    _names: Counter[str] = field(default_factory=Counter)

    def named(self, kind: str) -> str:
        """A name for one more client of a kind."""
        self._names[kind] += 1
        return f"{kind}-{self._names[kind]}"

    def note(self, client: str, node: str, began_ms: float, sent: Sent, reply: Reply | None) -> None:
        """Write a request that has ended, with its answer if there was one."""
        answer = None if reply is None else (reply.status, reply.headers.items(), reply.body)
        found = exchange_of(sent.method, sent.target, sent.headers.items(), sent.body, answer, self.address)
        if found is not None:
            self.recorder.note(found.by(client, node.removeprefix("http://"), began_ms, now_ms()))


@contextmanager
def recording(
    name: str, *, address: str = HERE, clock_ms: int = 1_000, visible_ms: int = 10_000
) -> Iterator[Recording]:
    """Write the history of a run that begins with an empty database and whose clients are all recorded: FOLDER/NAME.jsonl.
    An earlier file of the name is replaced."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.jsonl"
    header = Header(VERSION, name, whole=True, fresh=True, clock_ms=clock_ms, visible_ms=visible_ms)
    with path.open("wb") as stream:
        yield Recording(path, Recorder(stream, header), address)


def judged(path: Path) -> tuple[list[str], list[str]]:
    """The promises that a history breaks, each in a sentence, and the lines that tell what was judged and what proves it."""
    gc.disable()  # as the judge's own program does
    try:
        with path.open("rb") as stream:
            history = read_history(stream)
        verdicts = judge(history)
        broken = [f"{name}: {each.sentence}" for name, found in verdicts.items() for each in found.broken]
        return broken, [*report(history, verdicts), f"to judge it again: python -m tests.judge {shown(path)}"]
    finally:
        gc.enable()


def shown(path: Path) -> Path:
    return path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path
