"""The context of a command: its options, the service and key, its output, and the ports to the outside."""

import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from service.catalogctl.addresses import DEFAULT_URL, base_of, is_in_clear
from service.catalogctl.client import Client, Reply, Send
from service.catalogctl.credentials import Keyring, Saved
from service.catalogctl.failures import Misused
from service.catalogctl.tables import Column, facts, table
from service.catalogctl.texts import harmless, harmless_json, shown

URL_VARIABLE, KEY_VARIABLE = "CATALOGCTL_URL", "CATALOGCTL_KEY"
_KEY = re.compile(r"[!-~]{1,512}")


@dataclass(frozen=True, slots=True)
class Outside:
    """The ports to the outside. `now` is a monotonic clock in seconds; `browse` opens a page and returns whether it could."""

    environment: Mapping[str, str]
    out: TextIO
    err: TextIO
    columns: int | None
    send: Send
    now: Callable[[], float]
    sleep: Callable[[float], None]
    browse: Callable[[str], bool]
    new_id: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a command: its options, the client of the service, and the saved credentials."""

    options: Namespace
    outside: Outside
    keyring: Keyring
    saved: Saved
    client: Client

    @property
    def base(self) -> str:
        return self.client.base

    @property
    def as_json(self) -> bool:
        return bool(getattr(self.options, "json", False))

    def needs_key(self) -> None:
        """Raise `Misused` if there is no key."""
        if self.client.key is None:
            raise Misused(f"you are not logged in to {self.base}; run catalogctl login, or set {KEY_VARIABLE}")

    def say(self, *lines: str) -> None:
        """Print the result."""
        for line in lines:
            print(line, file=self.outside.out)

    def note(self, *lines: str) -> None:
        """Print a note beside the result, on standard error."""
        for line in lines:
            print(line, file=self.outside.err, flush=True)

    def warn(self, words: str) -> None:
        warner(self.outside.err)(words)

    def show(self, reply: Reply, lines: Sequence[str]) -> None:
        """Print the response: its JSON with `--json`, otherwise `lines`."""
        self.say(*([harmless_json(reply.body)] if self.as_json else lines))

    def show_fields(self, reply: Reply, document: Mapping[str, Any], names: Mapping[str, str]) -> None:
        """Print the response; without `--json`, the fields of a document under their names for the user."""
        self.show(reply, self.facts({title: shown(document.get(field)) for title, field in names.items()}))

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]], nothing: str) -> list[str]:
        return table(columns, rows, self.outside.columns) if rows else [nothing]

    def facts(self, pairs: Mapping[str, str | Sequence[str]]) -> list[str]:
        return facts(pairs, self.outside.columns)


def warner(err: TextIO) -> Callable[[str], None]:
    return lambda words: print(f"catalogctl: warning: {harmless(words)}", file=err)


def opened(options: Namespace, outside: Outside, keyring: Keyring, saved: Saved) -> Session:
    """A session with the service of the options, the environment or the last login. Raises `Misused`."""
    warn, environment = warner(outside.err), outside.environment
    chosen = getattr(options, "url", None) or environment.get(URL_VARIABLE)
    base = base_of(chosen) if chosen else saved.current or DEFAULT_URL
    given = getattr(options, "key", None)
    if given is not None:
        warn(f"--key exposes the key in the process list and the shell's history; set {KEY_VARIABLE} instead")
    key = _checked(given if given is not None else environment.get(KEY_VARIABLE) or None)
    if key is None and base in saved.credentials:
        key = _checked(saved.credentials[base].api_key)
    if key is not None and is_in_clear(base):
        warn(f"{base} is not encrypted: others can read the key on the network")
    return Session(options, outside, keyring, saved, Client(base, outside.send, key))


def _checked(key: str | None) -> str | None:
    if key is not None and not _KEY.fullmatch(key):
        raise Misused("the key is not valid: it must be visible ASCII on one line")
    return key
