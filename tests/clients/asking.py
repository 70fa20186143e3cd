"""Clients that are asked for tools, each a process, and the person whom they ask for access, in a browser.

A client is asked by a line on its input and answers by a line. It opens the person's browser by the program in `BROWSER`, as
on a desktop; that program only notes the address, and the driven browser opens it.
"""

import json
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.browser.people import Person

ANSWER_SECONDS = 60.0
OPENER = """#!/bin/sh
printf '%s\\n' "$1" >> "$OPENED"
"""

Answer = dict[str, Any]
"""`result`, the structured result of a tool, or `error`, the client's words."""


class Approver(Person):
    """A person whose clicks are counted. `scopes` are those of the last request."""

    clicks = 0
    scopes = ""

    def presses(self, button: str, *, begins: bool = False) -> None:
        super().presses(button, begins=begins)
        self.clicks += 1

    def decides(self, url: str, button: str, email: str) -> None:
        """Open the address that a client opened, sign in if that comes first, and decide."""
        self.scopes = " ".join(parse_qs(urlsplit(url).query).get("scope", []))
        self.page.goto(url)
        if self.page.get_by_role("heading", level=1, name="Sign in", exact=True).is_visible():
            self.passes_sign_in(email)
        self.reads("Connect this program?")
        self.presses(button)
        self.page.wait_for_url(lambda address: not address.startswith(self.node.url))

    def revokes(self, name: str) -> None:
        """Revoke the keys of a program, as an owner does."""
        self.opens("/dashboard")
        while (link := self.page.get_by_role("link", name=name).first).is_visible():
            link.click()
            self.unfolds("Revoke this key")
            self.presses("Revoke this key permanently")
            self.told("The key is revoked.")
            self.opens("/dashboard")


@dataclass
class Asked:
    """A running client. `words` start it, in `home`, which is a new folder."""

    name: str
    words: Sequence[str | Path]
    home: Path
    variables: Mapping[str, str]
    lines: queue.Queue[str] = field(default_factory=queue.Queue)
    seen: int = 0
    process: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        self.home.mkdir()
        opener = self.home / "open"
        opener.write_text(OPENER)
        opener.chmod(0o755)
        self.starts()

    def starts(self) -> None:
        self._runs(self.words)

    def _runs(self, words: Sequence[str | Path]) -> None:
        opened = {"BROWSER": str(self.home / "open"), "OPENED": str(self.home / "opened"), "HOME": str(self.home)}
        with (self.home / "errors").open("ab") as errors:
            self.process = subprocess.Popen(
                words,
                cwd=self.home,
                env={**self.variables, **opened, "CLIENT_NAME": self.name},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        threading.Thread(target=self._hears, args=[self.process], daemon=True).start()

    def _hears(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            self.lines.put(line)

    def sends(self, message: object) -> None:
        assert self.process
        assert self.process.stdin
        self.process.stdin.write(f"{json.dumps(message)}\n")
        self.process.stdin.flush()

    def asks(self, tool: str) -> None:
        self.sends({"tool": tool})

    def answer_in(self, line: str) -> Answer | None:
        """The answer in a line of the client, if it has one."""
        answer: Answer = json.loads(line)
        return answer

    def tokens(self) -> Answer:
        """What the client keeps: `access_token`, `refresh_token` and `client_id`. Clients that look at the clock alone then
        take the first for expired."""
        self.sends({"tool": None})
        answer = self.answer_in(self.lines.get(timeout=ANSWER_SECONDS))
        assert answer
        return answer

    def calls(self, tool: str, person: Approver, email: str, button: str = "Approve") -> Answer:
        """The client's answer after the person has decided about all that it opened in the browser."""
        self.asks(tool)
        limit = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < limit:
            if (url := self._opened()) is not None:
                person.decides(url, button, email)
            try:
                line = self.lines.get(timeout=0.05)
            except queue.Empty:
                continue
            if (answer := self.answer_in(line)) is not None:
                return answer
        raise AssertionError(f"{self.name} does not answer: {self.said()[-4_000:]}")

    def _opened(self) -> str | None:
        """The next address that the client opened in the browser."""
        opened = self.home / "opened"
        addresses = opened.read_text().splitlines() if opened.exists() else []
        if len(addresses) == self.seen:
            return None
        self.seen += 1
        return addresses[self.seen - 1]

    def said(self) -> str:
        return (self.home / "errors").read_text(errors="replace")

    def stops(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            self.process.wait(ANSWER_SECONDS)


class Proxy(Asked):
    """`mcp-remote`, a server that a program starts: it is sent messages of the protocol."""

    number = 0

    def starts(self) -> None:
        super().starts()
        agent = {"name": "agent", "version": "1.0.0"}
        self._message("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": agent})
        while self.answer_in(self.lines.get(timeout=ANSWER_SECONDS)) is None:
            pass
        self.sends({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def asks(self, tool: str) -> None:
        self._message("tools/call", {"name": tool, "arguments": {}})

    def _message(self, method: str, params: object) -> None:
        self.number += 1
        self.sends({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})

    def answer_in(self, line: str) -> Answer | None:
        message = json.loads(line)
        if message.get("id") != self.number:
            return None
        if "error" in message:
            return {"error": message["error"]["message"]}
        return {"result": message["result"].get("structuredContent")}

    def tokens(self) -> Answer:
        [tokens] = self.home.rglob("*_tokens.json")
        [client] = self.home.rglob("*_client_info.json")
        return {**json.loads(tokens.read_text()), "client_id": json.loads(client.read_text())["client_id"]}


class Command(Asked):
    """The inspector's command line: a process for each call, which keeps its tokens in files."""

    def starts(self) -> None:
        """Start nothing before a call."""

    def asks(self, tool: str) -> None:
        self._runs([*self.words, "--method", "tools/call", "--tool-name", tool])

    def _hears(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        printed = process.stdout.read()
        self.lines.put(printed if process.wait() == 0 else json.dumps({"error": self.said()}))

    def answer_in(self, line: str) -> Answer | None:
        printed = json.loads(line)
        return printed if "error" in printed else {"result": printed["result"]["structuredContent"]}

    def tokens(self) -> Answer:
        storage = self.home / ".mcp-inspector"
        kept = json.loads((storage / "secrets.json").read_text())["secrets"]
        [tokens] = [json.loads(text) for name, text in kept.items() if ":tokens:" in name]
        registered = (storage / "storage" / "oauth.json").read_text()
        return {**tokens, "client_id": re.findall(r'"client_id": "([^"]+)"', registered)[0]}
