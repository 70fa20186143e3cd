"""The context of a command: its options, the service and key, the ports to the outside, and its output.

Results are printed on standard output, everything else on standard error. As JSON, each line of standard error is an object:
`{"error", "message"}` of the service or of this program, `{"warning"}`, `{"note"}`, or the address and code of a login.

A command prints its result by `show` (a response), by `present` (a document of its own) or, for a list, by `lists.walk` and
then `print_text`. Each of them does what `--json` and `--quiet` ask for, so commands need not look at these options.
"""

import json
import re
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple, TextIO

from service.catalogctl.client import DEFAULT_URL, URL_VARIABLE, Client, Download, Reply, Send, base_of, is_in_clear
from service.catalogctl.credentials import Keyring, Saved
from service.catalogctl.failures import Failure, Misused, NotLoggedIn
from service.terminal.layout import harmless, harmless_json
from service.terminal.output import made_private

KEY_VARIABLE = "CATALOGCTL_KEY"
_KEY = re.compile(r"[!-~]{1,512}")

SECRETS = ("apiKey", "secret")
"""Fields of a secret that is shown only once. It stands for the whole response, because it cannot be read again."""

NAMES = (
    "id",
    "slug",
    "number",
    "checkoutUrl",
    "bookingId",
    "tenantId",
    "campaignId",
    "slotId",
    "month",
    "site",
    "name",
)
"""Fields that identify an object, best first. New commands need nothing of their own if their objects have one of them."""


class Format(Enum):
    """The format of a command's output."""

    WORDS = auto()
    JSON = auto()
    IDS = auto()


class Outside(NamedTuple):
    """The ports to the outside. `now` is a monotonic clock in seconds; `browse` opens a page and returns whether it could.
    `confirm` asks a question, and returns whether the answer is yes, or None if nobody can be asked. `wall` is the time in
    seconds since the epoch."""

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
    confirm: Callable[[str], bool | None] = lambda question: None
    wall: Callable[[], float] = time.time


class Printer(NamedTuple):
    """Prints in one format."""

    out: TextIO
    err: TextIO
    format: Format = Format.WORDS

    def write(self, *lines: str) -> None:
        """Print lines on standard output."""
        for line in lines:
            print(line, file=self.out)

    def print_text(self, *lines: str) -> None:
        """Print lines for people. Prints nothing with `--json` or `--quiet`."""
        if self.format is Format.WORDS:
            self.write(*lines)

    def show(self, reply: Reply, lines: Sequence[str], ids: Sequence[str] | None = None) -> None:
        """Print the response: its JSON, its ids, or `lines`. `ids` replaces those that `ids_of` finds.

        A file that gets a secret is made private before, or a warning says that others can read it.
        """
        if _named(reply.document, SECRETS) and (words := made_private(self.out)):
            self.warn(words)
        match self.format:
            case Format.JSON:
                self.write(harmless_json(reply.body))
            case Format.IDS:
                self.write(*(map(harmless, ids_of(reply.document)) if ids is None else ids))
            case Format.WORDS:
                self.write(*lines)

    def present(self, document: Mapping[str, Any], lines: Sequence[str], ids: Sequence[str]) -> None:
        """Print a result that is not a response of the service: `document` as JSON, the `ids`, or `lines`."""
        self.show(Reply(200, {}, json.dumps(document, ensure_ascii=False).encode()), lines, ids)

    def hint(self, *lines: str) -> None:
        """Print what the user may do next, on standard error. Prints nothing with `--json` or `--quiet`."""
        if self.format is Format.WORDS:
            self.note(*lines)

    def note(self, *lines: str) -> None:
        """Print on standard error what the user must know in any format. Empty lines are only for people."""
        for line in lines:
            if self.format is not Format.JSON:
                print(line, file=self.err, flush=True)
            elif line:
                self.write_error_json(note=line)

    def warn(self, words: str) -> None:
        if self.format is Format.JSON:
            self.write_error_json(warning=harmless(words))
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
            self.write_error_json(error=failure.error, message=harmless(str(failure)))

    def write_error_json(self, **fields: object) -> None:
        """Print a JSON object on standard error."""
        print(json.dumps(fields, ensure_ascii=False), file=self.err, flush=True)


class Session(NamedTuple):
    """One run of a command: its options, its output, the client of the service, and the saved credentials.

    `options` has the options that were given alone. `url_option` is the option that leads a further command to the same
    service; empty where that is the default one.
    """

    options: Namespace
    outside: Outside
    printer: Printer
    keyring: Keyring
    saved: Saved
    client: Client
    url_option: str = ""

    @property
    def base(self) -> str:
        return self.client.base

    def option(self, name: str) -> Any:
        """The value of an option, or None if it was not given."""
        return getattr(self.options, name, None)

    def needs_key(self) -> None:
        """Raise `NotLoggedIn` if there is no key."""
        if self.client.key is None:
            run = f"catalogctl login{self.url_option}"
            raise NotLoggedIn(f"you are not logged in to {self.base}; run {run}, or set {KEY_VARIABLE}")


def format_of(options: Namespace) -> Format:
    """The format that the options ask for. Raises `Misused`."""
    if getattr(options, "json", False):
        if getattr(options, "quiet", False):
            raise Misused("--json and --quiet cannot be combined")
        return Format.JSON
    return Format.IDS if getattr(options, "quiet", False) else Format.WORDS


def opened(options: Namespace, outside: Outside, printer: Printer, keyring: Keyring, saved: Saved) -> Session:
    """A session with the service of the options, the environment or the last login. Raises `Misused`."""
    environment = outside.environment
    option = getattr(options, "url", None)
    chosen = option or environment.get(URL_VARIABLE)
    base = base_of(chosen) if chosen else saved.current or DEFAULT_URL
    given = getattr(options, "key", None)
    if given is not None:
        printer.warn(f"--key exposes the key in the process list and the shell's history; set {KEY_VARIABLE} instead")
    key = _checked(given if given is not None else environment.get(KEY_VARIABLE) or None)
    if key is None and base in saved.credentials:
        key = _checked(saved.credentials[base].api_key)
    if key is not None and is_in_clear(base):
        printer.warn(f"{base} is not encrypted: others can read the key on the network")
    client = Client(base, outside.send, outside.download, key, is_default=not chosen and saved.current is None)
    return Session(options, outside, printer, keyring, saved, client, f" --url {base}" if option else "")


def _checked(key: str | None) -> str | None:
    if key is not None and not _KEY.fullmatch(key):
        raise Misused("the key is not valid: it must be visible ASCII on one line")
    return key


# The ids of the objects of a response, for `--quiet`.


def ids_of(document: Mapping[str, Any]) -> list[str]:
    """The ids of a response, without repetitions: its secret, its own id, that of the object in it, or those of its list.

    Empty if the response identifies nothing, as after a deletion.
    """
    found = _named(document, SECRETS) or _named(document, NAMES)
    if found is None:
        inner = (_identity(value) for value in document.values() if isinstance(value, dict))
        found = next((each for each in inner if each is not None), None)
    if found is not None:
        return [found]
    lists = (value for value in document.values() if isinstance(value, list) and _is_of_objects(value))
    ids = (_identity(each) for each in next(lists, []))
    return list(dict.fromkeys(each for each in ids if each is not None))


def _identity(entry: Mapping[str, Any]) -> str | None:
    """The id of an object, or of the first object in it."""
    found = _named(entry, NAMES)
    inner = (_named(value, NAMES) for value in entry.values() if isinstance(value, dict))
    return found or next((each for each in inner if each is not None), None)


def _named(entry: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    values = (entry.get(name) for name in names)
    return next((str(value) for value in values if _is_id(value)), None)


def _is_id(value: object) -> bool:
    return bool(value) and isinstance(value, str | int) and not isinstance(value, bool)


def _is_of_objects(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, dict) for value in values)
