"""Browsers other than Chromium, driven by WebDriver: Firefox by its own port (Marionette), WebKitGTK by WebKitWebDriver.

Playwright drives neither: its Firefox and WebKit are builds of its own, which no package of Debian has.
"""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page

from tests.acceptance.postgres import free_port
from tests.acceptance.processes import until
from tests.programs import program

STOP_SECONDS = 20.0
ANSWER_SECONDS = 60.0
PREFERENCES = {
    # Writes the port to a file of the profile.
    "marionette.port": 0,
    # No add-on of the system, of which Debian's blocker is one.
    "extensions.enabledScopes": 0,
    # Every host name is this machine's.
    "network.dns.forceResolve": "127.0.0.1",
}
PATHS = {
    "Navigate": "url",
    "ExecuteScript": "execute/sync",
    "ElementClick": "element/{id}/click",
    "ElementClear": "element/{id}/clear",
    "ElementSendKeys": "element/{id}/value",
    "Back": "back",
    "GetCookies": "cookie",
}
"""WebDriver's commands over HTTP."""


class Browser:
    """One window. A script is the body of a function; it may return a promise or an element."""

    def __init__(self, name: str, ask: Callable[..., Any]) -> None:
        self.name, self.ask = name, ask

    def opens(self, url: str) -> None:
        self.ask("Navigate", url=url)

    def runs(self, script: str, *arguments: object) -> Any:
        return self.ask("ExecuteScript", script=script, args=arguments)

    def clicks(self, script: str) -> None:
        """Scroll to the element that the script returns, which WebKitGTK does not do by itself, and click it."""
        into_view = "found.scrollIntoView({ block: 'center', behavior: 'instant' })"
        [element] = self.runs(f"const found = (() => {{ {script} }})(); {into_view}; return found").values()
        self.ask("ElementClick", id=element)

    def types(self, script: str, text: str) -> None:
        """Type into the field that the script returns, in place of what is in it."""
        [element] = self.runs(script).values()
        self.ask("ElementClear", id=element)
        if text:
            self.ask("ElementSendKeys", id=element, text=text)

    def goes_back(self) -> None:
        self.ask("Back")

    def cookies(self) -> list[str]:
        """The names of the cookies that the page's address is sent, also of those that scripts cannot read."""
        return [each["name"] for each in self.ask("GetCookies")]


class Chromium(Browser):
    """A page of Playwright, which drives Chromium."""

    def __init__(self, page: Page) -> None:
        self.name, self.page = "chromium", page

    def opens(self, url: str) -> None:
        self.page.goto(url)

    def runs(self, script: str, *arguments: object) -> Any:
        return self.page.evaluate(f"(given) => (function () {{ {script} }}).apply(null, given)", list(arguments))

    def clicks(self, script: str) -> None:
        element = self.page.evaluate_handle(f"() => {{ {script} }}").as_element()
        assert element
        element.click()

    def goes_back(self) -> None:
        self.page.go_back()

    def cookies(self) -> list[str]:
        return [each["name"] for each in self.page.context.cookies(self.page.url)]


@contextmanager
def running(*words: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process, which ends at the end."""
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **options) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)


def at_home(home: Path, **more: str) -> Mapping[str, str]:
    """An environment in which a program of a desktop finds and leaves nothing elsewhere."""
    return {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "DBUS_SESSION_BUS_ADDRESS": "none:", **more}


@contextmanager
def running_firefox(home: Path) -> Iterator[Browser]:
    """Firefox without a window, with a new profile in `home`."""
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items())
    (home / "user.js").write_text("\n".join(lines))
    port = home / "MarionetteActivePort"
    words = (program("firefox-esr", "firefox-esr"), "--headless", "--marionette", "--no-remote", "--profile", str(home))
    with running(*words, stdout=subprocess.DEVNULL, env=at_home(home)):
        until(lambda: port.is_file() and port.read_text(), what="Firefox's port")
        with marionette(int(port.read_text())) as ask:
            ask("NewSession")
            yield Browser("firefox", ask)


@contextmanager
def marionette(port: int) -> Iterator[Callable[..., Any]]:
    """Sends commands as `[0, id, name, parameters]`, each with its length in front, and returns what is answered."""
    numbers = count(1)

    def message() -> Any:
        length = b""
        while (byte := received.read(1)) not in (b":", b""):
            length += byte
        return json.loads(received.read(int(length)))

    def ask(command: str, **parameters: object) -> Any:
        name = command if ":" in command else f"WebDriver:{command}"
        text = json.dumps([0, next(numbers), name, parameters]).encode()
        connection.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = message()
        assert not error, error
        return result.get("value") if isinstance(result, dict) else result

    with (
        socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS) as connection,
        connection.makefile("rb") as received,
    ):
        message()
        yield ask


@contextmanager
def running_webkit(home: Path) -> Iterator[Browser]:
    """WebKitGTK's MiniBrowser, on a screen that nobody sees."""
    port = free_port()
    screen = (program("Xvfb", "xvfb"), "-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "1366x800x24")
    driver = (program("WebKitWebDriver", "webkit2gtk-driver"), f"--port={port}")
    with running(*screen, stdout=subprocess.PIPE) as shown:
        assert shown.stdout
        env = at_home(home, DISPLAY=f":{shown.stdout.readline().decode().strip()}", GDK_BACKEND="x11")
        with running(*driver, stdout=subprocess.DEVNULL, env=env), closing(client(port)) as http:
            until(lambda: listens(port), what="WebKitWebDriver")
            started = http.post("/session", json={"capabilities": {}}).json()["value"]
            yield Browser("webkit", over_http(http, f"/session/{started['sessionId']}"))
            http.delete(f"/session/{started['sessionId']}")


def client(port: int) -> httpx.Client:
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=ANSWER_SECONDS, trust_env=False)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def over_http(http: httpx.Client, session: str) -> Callable[..., Any]:
    def ask(command: str, **parameters: object) -> Any:
        path = f"{session}/{PATHS[command].format(**parameters)}"
        answer = http.get(path) if command.startswith("Get") else http.post(path, json=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    return ask
