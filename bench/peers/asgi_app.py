"""A plain ASGI program whose responses are constant: what a server costs without any work behind it.

`uvicorn --factory bench.peers.asgi_app:program`, or the same with Granian. PEER_RESPONSES names a file with the responses by
their path, as `Responses`.
"""

import json
import os
from pathlib import Path
from typing import Any

Responses = dict[str, tuple[list[tuple[str, str]], str]]
"""By path: headers and body of a 200."""

NOT_FOUND = {"type": "http.response.start", "status": 404, "headers": []}, {"type": "http.response.body", "body": b""}


def program() -> Any:
    responses = {
        path: _messages(*each) for path, each in json.loads(Path(os.environ["PEER_RESPONSES"]).read_text()).items()
    }

    async def constant(scope: dict[str, Any], receive: Any, send: Any) -> None:
        start, body = responses.get(scope["path"], NOT_FOUND)
        await send(start)
        await send(body)

    return constant


def _messages(headers: list[tuple[str, str]], body: str) -> tuple[dict[str, Any], dict[str, Any]]:
    encoded = [(name.encode(), value.encode()) for name, value in headers]
    start = {"type": "http.response.start", "status": 200, "headers": encoded}
    return start, {"type": "http.response.body", "body": body.encode()}
