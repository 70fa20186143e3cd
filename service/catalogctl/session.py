"""The context of a command: its options, the service and key, its output, and the ports to the outside.

A command prints its result by `show` (a response), by `present` (a document of its own) or, for a list, by `paging.walk` and
then `say`. Each of them does what `--json` and `--quiet` ask for, so commands need not look at these options.
"""

import json
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.catalogctl.addresses import DEFAULT_URL, URL_VARIABLE, base_of, is_in_clear
from service.catalogctl.client import Client, Reply
from service.catalogctl.credentials import Keyring, Saved
from service.catalogctl.failures import Misused, NotLoggedIn
from service.catalogctl.identities import ids_of
from service.catalogctl.output import Format, Outside, Printer
from service.catalogctl.tables import Column, facts, table
from service.catalogctl.texts import harmless, harmless_json, shown

KEY_VARIABLE = "CATALOGCTL_KEY"
_KEY = re.compile(r"[!-~]{1,512}")


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a command: its options, the client of the service, and the saved credentials.

    `url_option` is the option that leads a further command to the same service; empty where that is the default one.
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

    @property
    def format(self) -> Format:
        return self.printer.format

    @property
    def as_json(self) -> bool:
        """Whether responses are printed as JSON. `say` and `hint` print nothing then."""
        return self.format is Format.JSON

    def needs_key(self) -> None:
        """Raise `NotLoggedIn` if there is no key."""
        if self.client.key is None:
            run = f"catalogctl login{self.url_option}"
            raise NotLoggedIn(f"you are not logged in to {self.base}; run {run}, or set {KEY_VARIABLE}")

    def say(self, *lines: str) -> None:
        """Print lines for people. Prints nothing with `--json` or `--quiet`."""
        if self.format is Format.WORDS:
            self.printer.write(*lines)

    def hint(self, *lines: str) -> None:
        """Print what the user may do next, on standard error. Prints nothing with `--json` or `--quiet`."""
        if self.format is Format.WORDS:
            self.printer.note(*lines)

    def note(self, *lines: str) -> None:
        """Print on standard error what the user must know in any format."""
        self.printer.note(*lines)

    def warn(self, words: str) -> None:
        self.printer.warn(words)

    def show(self, reply: Reply, lines: Sequence[str], ids: Sequence[str] | None = None) -> None:
        """Print the response: its JSON, its ids, or `lines`. `ids` replaces those that `ids_of` finds."""
        match self.format:
            case Format.JSON:
                self.printer.write(harmless_json(reply.body))
            case Format.IDS:
                self.printer.write(*(map(harmless, ids_of(reply.document)) if ids is None else ids))
            case Format.WORDS:
                self.printer.write(*lines)

    def present(self, document: Mapping[str, Any], lines: Sequence[str], ids: Sequence[str]) -> None:
        """Print a result that is not a response of the service: `document` as JSON, the `ids`, or `lines`."""
        self.show(Reply(200, {}, json.dumps(document, ensure_ascii=False).encode()), lines, ids)

    def show_fields(self, reply: Reply, document: Mapping[str, Any], names: Mapping[str, str]) -> None:
        """Print the response; for people, the fields of a document under their names for the user."""
        self.show(reply, self.facts({title: shown(document.get(field)) for title, field in names.items()}))

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]], nothing: str) -> list[str]:
        return table(columns, rows, self.outside.columns) if rows else [nothing]

    def facts(self, pairs: Mapping[str, str | Sequence[str]]) -> list[str]:
        return facts(pairs, self.outside.columns)


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
