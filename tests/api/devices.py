"""Device logins over HTTP: start, poll, read and decide."""

from typing import Any
from urllib.parse import urlencode

from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE, cookie
from tests.api.world import World

DEVICE, TOKEN, APPROVAL = "/api/v1/auth/device", "/api/v1/auth/device/token", "/api/v1/auth/device/approval"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
FORM = {"content-type": "application/x-www-form-urlencoded"}


async def started(world: World, **rest: Any) -> Any:
    response = await world.client.post(DEVICE, **rest)
    assert response.words == "200"
    return response.json


async def polled(world: World, device_code: str, **fields: str) -> Response:
    """A poll by a client of RFC 8628 only."""
    form = {"grant_type": GRANT, "device_code": device_code, "client_id": "a-program", **fields}
    return await world.client.post(TOKEN, headers=FORM, body=urlencode(form).encode())


def in_browser(token: str) -> dict[str, str]:
    """The headers of a form on a page of this service."""
    return cookie(token) | OUR_PAGE


async def looked(world: World, token: str, code: str) -> Response:
    return await world.client.get(f"{APPROVAL}?{urlencode({'userCode': code})}", headers=in_browser(token))


async def decided(world: World, token: str, code: str, decision: str = "approve", **rest: Any) -> Response:
    body = {"userCode": code, "decision": decision, **rest}
    return await world.client.post(APPROVAL, headers=in_browser(token), json=body)
