"""A person whose browser has passkeys: signs in with code and passkey, and manages passkeys over the API."""

import re
from dataclasses import dataclass, field
from typing import Any

from tests.api.asgi import Response
from tests.api.authenticator import Authenticator
from tests.api.callers import OUR_PAGE
from tests.api.world import World

SECOND_STEP = "/api/v1/auth/passkey"
PASSKEYS = "/api/v1/account/passkeys"
COMPLETE = "/api/v1/auth/session/complete"

_COOKIE = re.compile(r"__Host-(session|passkey|sign-in)=([^;]*);")


@dataclass(slots=True)
class Owner:
    """A browser with its cookies, on a node. Its answers must be 200 where the method does not return the response."""

    world: World
    email: str = "ann@example.com"
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> set[str]:
        """The cookies that stand for a session or a pending sign-in."""
        return self.cookies.keys() - {"sign-in"}

    async def call(self, method: str, path: str, body: Any = None) -> Response:
        sent = "; ".join(f"__Host-{name}={value}" for name, value in self.cookies.items())
        headers = OUR_PAGE | {"User-Agent": "A browser"} | ({"Cookie": sent} if sent else {})
        more = {} if body is None else {"json": body}
        response = await self.world.client.request(method, path, headers=headers, **more)
        for header in response.all("set-cookie"):
            found = _COOKIE.match(header)
            assert found, header
            self.cookies[found[1]] = found[2]
            if not found[2]:
                del self.cookies[found[1]]
        return response

    async def given(self, method: str, path: str, body: Any = None) -> Any:
        response = await self.call(method, path, body)
        assert response.status == 200, response.words
        return response.json

    # Signing in.

    async def enters_code(self) -> Any:
        """Ask for a code and send it. A new code needs a minute after the last one."""
        self.world.clock.at_ms += 60_000
        await self.given("POST", "/api/v1/auth/session", {"email": self.email})
        code = await self.world.emailed_code(self.email)
        return await self.given("POST", COMPLETE, {"email": self.email, "code": code})

    async def challenged(self) -> Any:
        """The options to finish the sign-in."""
        return (await self.given("POST", SECOND_STEP))["publicKey"]

    async def finishes(self, credential: Any) -> Response:
        return await self.call("POST", f"{SECOND_STEP}/complete", {"credential": credential})

    async def signs_in(self, authenticator: Authenticator) -> None:
        await self.enters_code()
        response = await self.finishes(authenticator.shows(await self.challenged()))
        assert response.status == 200, response.words

    # Passkeys.

    async def may_create(self) -> Any:
        return (await self.given("POST", f"{PASSKEYS}/challenge"))["publicKey"]

    async def adds(self, credential: Any, name: str = "Laptop") -> Response:
        return await self.call("POST", PASSKEYS, {"name": name, "credential": credential})

    async def registers(self, authenticator: Authenticator, name: str = "Laptop") -> str:
        """Add a passkey; returns its id."""
        response = await self.adds(authenticator.creates(await self.may_create()), name)
        assert response.status == 200, response.words
        return str(response.json["id"])

    async def confirms(self, authenticator: Authenticator) -> Response:
        options = (await self.given("POST", f"{PASSKEYS}/confirmation"))["publicKey"]
        return await self.call(
            "POST", f"{PASSKEYS}/confirmation/complete", {"credential": authenticator.shows(options)}
        )

    async def removes(self, passkey_id: str) -> Response:
        return await self.call("DELETE", f"{PASSKEYS}/{passkey_id}")

    async def listed(self) -> Any:
        return await self.given("GET", PASSKEYS)


async def owner_with_passkey(
    world: World, email: str = "ann@example.com", authenticator: Authenticator | None = None
) -> tuple[Owner, Authenticator]:
    """A signed-in person with one passkey."""
    owner, authenticator = Owner(world, email), authenticator or Authenticator()
    await owner.enters_code()
    await owner.registers(authenticator)
    return owner, authenticator
