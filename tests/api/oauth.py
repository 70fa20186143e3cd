"""A client of OAuth: registers, asks a person, and gets tokens, request by request."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE, cookie
from tests.api.conformity import BASE_URL
from tests.api.world import World
from tests.web.visitors import Form, Seen

AUTHORIZE, TOKEN, REGISTER, REVOKE = "/oauth/authorize", "/oauth/token", "/oauth/register", "/oauth/revoke"
CALLBACK = "http://127.0.0.1:8123/callback"
FORM = {"content-type": "application/x-www-form-urlencoded"}
VERIFIER = "a-verifier-of-at-least-forty-three-characters"
ANN = "ann@example.com"


def challenge_of(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


async def registered(world: World, *uris: str, **metadata: Any) -> str:
    """The id of a new client."""
    response = await world.client.post(REGISTER, json={"redirect_uris": uris or [CALLBACK], **metadata})
    assert response.words == "201", response.body
    return str(response.json["client_id"])


@dataclass
class Program:
    """A client that is registered, and what it asks for. Parameters that are None are left out."""

    world: World
    client_id: str
    redirect_uri: str = CALLBACK
    asked: Mapping[str, str | None] = field(default_factory=dict)

    def request(self, **changed: str | None) -> str:
        """The address that the person opens."""
        parameters: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "a state",
            "scope": "library:read",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "resource": f"{BASE_URL}/mcp",
            **self.asked,
            **changed,
        }
        return f"{AUTHORIZE}?{urlencode({name: each for name, each in parameters.items() if each is not None})}"

    async def opened(self, token: str, **changed: str | None) -> Response:
        """The page that a signed-in person sees."""
        return await self.world.client.get(self.request(**changed), headers=cookie(token) | {"accept": "text/html"})

    async def decided(self, token: str, do: str = "approve", days: str = "90", **changed: str | None) -> Response:
        """The response to the form of the page."""
        page = await self.opened(token, **changed)
        assert page.status == 200, page.body
        return await sent(self.world, token, form_of(page), do, days=days)

    async def code(self, token: str, **changed: str) -> str:
        return answer_of(await self.decided(token, **changed))["code"]

    async def exchanged(self, code: str, **changed: str | None) -> Response:
        fields: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "client_id": self.client_id,
            "code_verifier": VERIFIER,
            "resource": f"{BASE_URL}/mcp",
        }
        return await form_sent(self.world, TOKEN, {**fields, **changed})

    async def refreshed(self, refresh_token: str, **changed: str | None) -> Response:
        fields: dict[str, str | None] = {"refresh_token": refresh_token, "client_id": self.client_id}
        return await form_sent(self.world, TOKEN, {"grant_type": "refresh_token", **fields, **changed})

    async def tokens(self, token: str, **changed: str) -> Any:
        """The tokens after an approval."""
        response = await self.exchanged(await self.code(token, **changed))
        assert response.words == "200", response.body
        return response.json


async def form_sent(world: World, path: str, fields: Mapping[str, str | None], **headers: str) -> Response:
    body = urlencode({name: value for name, value in fields.items() if value is not None}).encode()
    return await world.client.post(path, headers=FORM | headers, body=body)


def form_of(page: Response) -> Form:
    """The form of the approval page."""
    [form] = [form for form in Seen.of(page).forms if "approve" in form.buttons]
    return form


async def sent(world: World, token: str, form: Form, do: str = "approve", **typed: str) -> Response:
    """Send the form of a page as a browser does."""
    headers = {**FORM, **cookie(token), **OUR_PAGE, "accept": "text/html"}
    body = urlencode({**form.fields, **typed, "do": do}).encode()
    return await world.client.post(AUTHORIZE, headers=headers, body=body)


def answer_of(response: Response) -> dict[str, str]:
    """The parameters with which the browser goes back to the program."""
    assert response.status == 303, Seen.of(response).text
    return dict(parse_qsl((response.header("location") or "").partition("?")[2]))


async def agent(world: World, **metadata: Any) -> Program:
    return Program(world, await registered(world, **metadata))
