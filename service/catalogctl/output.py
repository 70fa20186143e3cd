"""The two streams of a command in its three formats: words for people, JSON, and ids alone.

Results are printed on standard output, everything else on standard error. As JSON, each line of standard error is an object:
`{"error", "message"}` of the service or of this program, `{"warning"}`, `{"note"}`, or the address and code of a login.
"""

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TextIO

from service.catalogctl.client import Download, Send
from service.catalogctl.failures import Failure, Misused
from service.catalogctl.texts import harmless, harmless_json


class Format(Enum):
    """The format of a command's output."""

    WORDS = auto()
    JSON = auto()
    IDS = auto()


@dataclass(frozen=True, slots=True)
class Outside:
    """The ports to the outside. `now` is a monotonic clock in seconds; `browse` opens a page and returns whether it could."""

    environment: Mapping[str, str]
    out: TextIO
    err: TextIO
    columns: int | None
    send: Send
    download: Download
    now: Callable[[], float]
    sleep: Callable[[float], None]
    browse: Callable[[str], bool]
    new_id: Callable[[], str]


def format_of(options: Namespace) -> Format:
    """The format that the options ask for. Raises `Misused`."""
    if getattr(options, "json", False):
        if getattr(options, "quiet", False):
            raise Misused("--json and --quiet cannot be combined")
        return Format.JSON
    return Format.IDS if getattr(options, "quiet", False) else Format.WORDS


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints in one format."""

    out: TextIO
    err: TextIO
    format: Format = Format.WORDS

    def write(self, *lines: str) -> None:
        """Print lines on standard output."""
        for line in lines:
            print(line, file=self.out)

    def note(self, *lines: str) -> None:
        """Print lines on standard error. Empty ones are only for people."""
        for line in lines:
            if self.format is not Format.JSON:
                print(line, file=self.err, flush=True)
            elif line:
                self.tell(note=line)

    def warn(self, words: str) -> None:
        if self.format is Format.JSON:
            self.tell(warning=harmless(words))
        else:
            print(f"catalogctl: warning: {harmless(words)}", file=self.err)

    def fail(self, failure: Failure) -> None:
        """Print an error: a line and its details or, as JSON, the body that the service sent or one like it."""
        if self.format is not Format.JSON:
            print(f"catalogctl: {harmless(str(failure))}", file=self.err)
            for line in failure.details:
                print(f"  {harmless(line)}", file=self.err)
        elif failure.body:
            print(harmless_json(failure.body), file=self.err)
        else:
            self.tell(error=failure.error, message=harmless(str(failure)))

    def tell(self, **fields: object) -> None:
        """Print a JSON object on standard error."""
        print(json.dumps(fields, ensure_ascii=False), file=self.err, flush=True)
