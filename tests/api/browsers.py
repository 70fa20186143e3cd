"""A browser on a page of this service: it keeps the cookies that it is given, and sends them back."""

from dataclasses import dataclass, field
from typing import Any

from tests.api.asgi import READER, Client, Response
from tests.api.callers import OUR_PAGE

START, COMPLETE = "/api/v1/auth/session", "/api/v1/auth/session/complete"
AGENT = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}


@dataclass(slots=True, eq=False)
class Browser:
    """`address` is where its requests come from."""

    client: Client
    address: str = READER
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> dict[str, str]:
        told = OUR_PAGE | AGENT
        if self.cookies:
            told["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return told

    async def post(self, path: str, json: Any = None, *, body: bytes = b"", **headers: str) -> Response:
        told = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        response = await self.client.post(path, headers=told, json=json, body=body, address=self.address)
        self.keep(response)
        return response

    def keep(self, response: Response) -> None:
        for header in response.all("set-cookie"):
            name, _, value = header.partition(";")[0].partition("=")
            self.cookies.pop(name, None)
            if value:
                self.cookies[name] = value

    async def start(self, email: str) -> Response:
        """Ask for a sign-in code."""
        return await self.post(START, {"email": email})

    async def complete(self, email: str, code: str) -> Response:
        """Sign in with a code."""
        return await self.post(COMPLETE, {"email": email, "code": code})
