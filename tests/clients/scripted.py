"""Parts of the scripts that use clients in Python: the tools that they are asked for, the browser, and what they keep.

Imports nothing of the project; it is copied beside the scripts.
"""

import json
import os
import queue
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio

RETURN_SECONDS = 30.0
PATH = "/callback"

URL = f"{os.environ['CATALOG_URL']}/mcp"


class Returning:
    """Waits at an address of this machine for the browser to come back (RFC 8252, 7.3)."""

    def __init__(self) -> None:
        returns: queue.Queue[dict[str, str]] = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                self.send_response(200 if parts.path == PATH else 404)
                self.end_headers()
                self.wfile.write(b"Close this window.")
                if parts.path == PATH:
                    returns.put(dict(parse_qsl(parts.query)))

            def log_message(self, format: str, *args: Any) -> None:
                """Write nothing."""

        self._returns = returns
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{server.server_port}{PATH}"

    async def wait(self) -> dict[str, str]:
        """The parameters of the next return. Raises an error if the person denied."""
        answer = await anyio.to_thread.run_sync(lambda: self._returns.get(timeout=RETURN_SECONDS))
        if "error" in answer:
            raise RuntimeError(f"{answer['error']}: {answer.get('error_description', '')}")
        return answer


async def opens(url: str) -> None:
    """Open the person's browser."""
    await anyio.run_process([os.environ["BROWSER"], url])


class Stored:
    """Keeps tokens and the registration in memory, as both releases of the official client ask for it."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


def kept_by(client: Any, tokens: Any) -> dict[str, Any]:
    return {"client_id": client.client_id, **tokens.model_dump(mode="json", exclude_none=True)}


async def answers(call: Callable[[str], Awaitable[Any]], kept: Callable[[], Mapping[str, Any]]) -> None:
    """Answer each line of the input: the result of a tool, or what the client keeps, which has then expired for it."""
    while line := await anyio.to_thread.run_sync(sys.stdin.readline):
        tool = json.loads(line)["tool"]
        _tell(kept() if tool is None else {"result": await call(tool)})


def run(main: Callable[[], Awaitable[None]]) -> None:
    """Run a script. Its error is its last answer."""
    try:
        anyio.run(main)
    except BaseException as caught:
        error: BaseException = caught
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        _tell({"error": f"{type(error).__name__}: {error}"})
        raise


def _tell(answer: object) -> None:
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.stdout.flush()
