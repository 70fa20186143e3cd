"""Fakes for `catalogctl`: the outside of one user, where only sleeping takes time, and a server with scripted responses."""

# ruff: noqa: N815 - the standard library's server calls methods by these names.

import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from service.catalogctl.client import Asked, Download, Reply
from service.catalogctl.main import run
from service.catalogctl.session import Outside

IDS = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"


def no_network(asked: Asked) -> Reply:
    raise AssertionError(f"{asked.method} {asked.url} was sent, but nothing should be")


@dataclass(slots=True)
class Stage:
    """The outside of one user, whose files are in `home`."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    columns: int | None = 100
    send: Callable[[Asked], Reply] = no_network
    download: Download | None = None
    has_browser: bool = True
    at: float = 1_000.0
    wall: float | None = None
    slept: list[float] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    out: str = ""
    err: str = ""
    on_sleep: Callable[[float], None] = lambda seconds: None
    confirms: bool | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.home / "catalogctl" / "credentials.json"

    def run(self, *arguments: str) -> int:
        """Run one command and return its exit code. Its output is in `out` and `err`."""
        out, err = io.StringIO(), io.StringIO()
        environment = {"XDG_CONFIG_HOME": str(self.home), **self.environment}
        download = self.download or self._downloaded
        ports = self.send, download, lambda: self.at, self._sleep, self._browse, lambda: IDS, self._confirm
        outside = Outside(environment, out, err, self.columns, *ports, self._wall)
        try:
            return run(arguments, outside)
        except SystemExit as ended:
            return int(ended.code or 0)
        finally:
            self.out, self.err = out.getvalue(), err.getvalue()

    def _downloaded(self, asked: Asked, write: Callable[[bytes], None]) -> Reply:
        """Download by `send`."""
        reply = self.send(asked)
        if not reply.is_spreadsheet:
            return reply
        write(reply.body)
        return Reply(reply.status, reply.headers, b"")

    def _sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.on_sleep(seconds)
        self.slept.append(seconds)
        self.at += seconds

    def _wall(self) -> float:
        return time.time() if self.wall is None else self.wall

    def _confirm(self, question: str) -> bool | None:
        self.asked.append(question)
        return self.confirms

    def _browse(self, address: str) -> bool:
        self.opened.append(address)
        return self.has_browser


# A server of the standard library.


@dataclass(frozen=True, slots=True)
class Line:
    """One scripted response. `sent` is how much of the body is sent before the connection closes; None is all of it."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: int | None = None


def says(status: int, document: object, **headers: str) -> Line:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Line(status, json.dumps(document).encode(), {"Content-Type": "application/json", **named})


def refuses(status: int, error: str, message: str = "No.", **fields: object) -> Line:
    return says(status, {"error": error, "message": message, **fields})


HANGS_UP = Line(0, b"")
"""The connection closes without a response."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A request as received by the server. Header names are lower-case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: str


@dataclass(slots=True)
class Server:
    url: str
    script: list[Line]
    heard: list[Heard] = field(default_factory=list)

    def targets(self) -> list[str]:
        return [f"{heard.method} {heard.target}" for heard in self.heard]


@contextmanager
def scripted(*lines: Line) -> Iterator[Server]:
    """A server that answers each request with the next line, and closes the connection after the last one."""
    server = Server("", list(lines))

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.heard.append(Heard(self.command, self.path, headers, self.rfile.read(length).decode()))
            line = server.script.pop(0) if server.script else HANGS_UP
            self.close_connection = True
            if not line.status:
                return
            self.send_response(line.status)
            for name, value in {"Content-Length": str(len(line.body)), **line.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(line.body[: line.sent])

        do_GET = do_POST = do_PATCH = do_DELETE = do_CONNECT = answer

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.005,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join(10)


def logged_in(stage: Stage, url: str, key: str = "cs_user_of_this_test") -> None:
    """Write the credentials file of a login to `url`."""
    services: dict[str, Any] = {}
    if stage.file.exists():
        services = json.loads(stage.file.read_text())["services"]
    services[url] = {"api_key": key, "key_prefix": key[:12], "tenant_id": "ten_1"}
    stage.home.mkdir(exist_ok=True)
    stage.file.parent.mkdir(mode=0o700, exist_ok=True)
    stage.file.write_text(json.dumps({"version": 1, "current": url, "services": services}))
    stage.file.chmod(0o600)


def saved(stage: Stage) -> dict[str, str]:
    """The saved keys by the address of their service."""
    services = json.loads(stage.file.read_text())["services"]
    return {url: credential["api_key"] for url, credential in services.items()}
