"""Writing a history as operations end: the one clock of a recorder, and facts without secrets."""

import json
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import IO

from tests.judge.lines import BadHistory, line_of, reader_of
from tests.judge.records import Answer, Asked, Header, Operation
from tests.judge.wire import PAGE, Exchange, digest, operation_of

Pairs = Iterable[tuple[str, str]]

_OPEN = re.compile(r"(?!\d+$)[a-z0-9._-]{1,64}|[a-z]{2,4}_\w{1,22}", re.ASCII)
"""Texts that clients choose and that are shown as they are: names of slots and kinds, and ids. Keys, tokens, emails and codes
have another form."""


def running_clock() -> Callable[[], float]:
    """A clock of epoch milliseconds that never goes back, whatever becomes of the system's clock."""
    base = time.time() - time.monotonic()
    return lambda: round((base + time.monotonic()) * 1_000, 3)


class Recorder:
    """Writes the header, and then a line for each operation."""

    def __init__(self, stream: IO[bytes], header: Header) -> None:
        self._stream = stream
        self.operations = 0
        stream.write(line_of(header))
        stream.flush()

    def note(self, operation: Operation) -> None:
        """Write an operation. Raises OSError if the file cannot be written, because a history with a gap misleads."""
        self._stream.write(_fitting(operation))
        self._stream.flush()
        self.operations += 1


def _fitting(operation: Operation) -> bytes:
    """The line of an operation. One that could not be read back, or is too long, is written as if it had no answer, or as one
    that nobody knows."""
    for shorter in (operation, operation._replace(answer=None)):
        with suppress(BadHistory, ValueError):
            line = line_of(shorter)
            reader_of(Operation)(json.loads(line))
            return line
    return line_of(_unknown(operation))


def _unknown(operation: Operation) -> Operation:
    """An operation that may have done anything, so that the history is not whole."""
    return operation._replace(kind=PAGE, asked=Asked(operation.asked.caller), answer=None)


def exchange_of(
    method: str,
    target: str,
    headers: Pairs,
    body: bytes,
    answer: tuple[int, Pairs, bytes] | None,
    address: str,
) -> Exchange | None:
    """`operation_of` without secrets. Facts that cannot be read make an exchange that may have done anything."""
    path, _, query = target.partition("?")
    # The service reads bodies as they are, whatever coding a request names.
    sent = [(name, value) for name, value in headers if name.lower() != "content-encoding"]
    status, got, answered = answer or (None, (), b"")
    try:
        found = operation_of(method, path, query, sent, body, status, got, answered, address=address)
    except (ValueError, TypeError, AttributeError, KeyError):
        return Exchange(PAGE, Asked(), None)
    return None if found is None else found._replace(asked=_asked(found.asked), answer=_answer(found.answer))


def _asked(asked: Asked) -> Asked:
    return asked._replace(
        id=_shown(asked.id),
        key=None if asked.key is None else digest(asked.key),
        campaign=_shown(asked.campaign),
        slot=_shown(asked.slot),
        decision=_shown(asked.decision),
        cursor=_shown(asked.cursor),
        events=tuple(
            each._replace(booking=_shown(each.booking) or "", kind=_shown(each.kind) or "") for each in asked.events
        ),
    )


def _answer(answer: Answer | None) -> Answer | None:
    return None if answer is None else answer._replace(cursor=_shown(answer.cursor))


def _shown(text: str | None) -> str | None:
    return text if text is None or _OPEN.fullmatch(text) else digest(text)
