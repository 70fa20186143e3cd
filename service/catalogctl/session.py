"""What a command has at hand: whom it asks, as whom, where it prints, and the ports to the world outside."""

import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from service.catalogctl.addresses import DEFAULT_URL, base_of, is_in_clear
from service.catalogctl.client import Client, Reply, Send
from service.catalogctl.credentials import Keyring, Saved
from service.catalogctl.failures import Misused
from service.catalogctl.tables import Column, facts, table
from service.catalogctl.texts import harmless, harmless_json

URL_VARIABLE, KEY_VARIABLE = "CATALOGCTL_URL", "CATALOGCTL_KEY"
_KEY = re.compile(r"[!-~]{1,512}")


@dataclass(frozen=True, slots=True)
class Outside:
    """The world as a command meets it. `now` is a clock of seconds that only goes forward; `browse` opens a page and says
    whether it could."""

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
    """One command's run: its options, the service that it asks, and what is saved."""

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
        """Refuse to ask without a key what only a key's owner is answered. Raises `Misused`."""
        if self.client.key is None:
            raise Misused(f"you are not logged in to {self.base}; run catalogctl login, or set {KEY_VARIABLE}")

    def say(self, *lines: str) -> None:
        """What was asked for."""
        for line in lines:
            print(line, file=self.outside.out)

    def note(self, *lines: str) -> None:
        """What is said beside it."""
        for line in lines:
            print(line, file=self.outside.err, flush=True)

    def warn(self, words: str) -> None:
        warner(self.outside.err)(words)

    def show(self, reply: Reply, lines: Callable[[], Sequence[str]]) -> None:
        """The answer: as it came where that was asked for, else in these lines."""
        self.say(*([harmless_json(reply.body)] if self.as_json else lines()))

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]], nothing: str) -> list[str]:
        return table(columns, rows, self.outside.columns) if rows else [nothing]

    def facts(self, pairs: Mapping[str, str | Sequence[str]]) -> list[str]:
        return facts(pairs, self.outside.columns)


def warner(err: TextIO) -> Callable[[str], None]:
    return lambda words: print(f"catalogctl: warning: {harmless(words)}", file=err)


def opened(options: Namespace, outside: Outside, keyring: Keyring, saved: Saved) -> Session:
    """A session with the service that the options, the environment or the last login name. Raises `Misused`."""
    warn, environment = warner(outside.err), outside.environment
    chosen = getattr(options, "url", None) or environment.get(URL_VARIABLE)
    base = base_of(chosen) if chosen else saved.current or DEFAULT_URL
    given = getattr(options, "key", None)
    if given is not None:
        warn(f"--key shows the key in the list of processes and the shell's history; set {KEY_VARIABLE} instead")
    key = _checked(given if given is not None else environment.get(KEY_VARIABLE) or None)
    if key is None and base in saved.credentials:
        key = _checked(saved.credentials[base].api_key)
    if key is not None and is_in_clear(base):
        warn(f"{base} is not encrypted: the key can be read on the way")
    return Session(options, outside, keyring, saved, Client(base, outside.send, key))


def _checked(key: str | None) -> str | None:
    if key is not None and not _KEY.fullmatch(key):
        raise Misused("the key is not one: it has to be visible ASCII on one line")
    return key
