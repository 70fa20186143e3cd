"""What a node reports to operators. The parent of several workers asks each of them for it."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Self

REPORT_SECONDS = 2.0
"""Maximum time for a node to report. Beyond it, the node counts as not ready."""


@dataclass(frozen=True, slots=True)
class Report:
    """A node's metrics in Prometheus text format, and the reasons why it is not ready; none if it is."""

    metrics: str
    problems: list[str]

    def line(self) -> bytes:
        """The report as one line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        return cls(**json.loads(line))


Reports = Callable[[], Awaitable[Mapping[int, Report | None]]]
"""Asks every node of this machine, by number. None stands for a node that did not answer."""
