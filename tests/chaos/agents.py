"""Agents: they mint and spend keys, and claim some of them by email."""

import html
import re
import uuid
from dataclasses import dataclass
from typing import ClassVar

from tests.acceptance.clients import Reply
from tests.chaos.caller import OUR_PAGE, Caller
from tests.chaos.history import Key

SPENT = ("/api/v1/bots?limit=2", "/api/v1/usecases?limit=2", "/api/v1/bots?q=invoice&limit=2")
TIMES = (3, 12)
"""The least and greatest number of requests per key."""

CLAIMED = 0.15
"""The share of keys that are claimed."""

LETTER = re.compile(r"<dt>To</dt>\s*<dd>([^<]+)</dd>.*?^(\d{6})$", re.DOTALL | re.MULTILINE)
LOOKS = 40
"""How often a client looks for a message before giving up."""


@dataclass(slots=True)
class Addressee(Caller):
    """A client that can read its mailed codes, because mail is shown when there is no SMTP server."""

    async def code_for(self, email: str) -> str | None:
        for _ in range(LOOKS):
            reply = await self.ask("look for mail", "/dev/outbox")
            if reply is not None and reply.status == 200:
                letters = LETTER.findall(html.unescape(reply.body.decode()))
                codes = [code for recipient, code in letters if recipient == email]
                if codes:
                    # The newest message comes first.
                    return str(codes[0])
            if self.stop.is_set():
                break
            await self.think()
        return None


@dataclass(slots=True)
class Agent(Addressee):
    """Uses one key after another, and claims a share of them."""

    name: ClassVar[str] = "agent"

    claims: float = CLAIMED

    async def once(self) -> None:
        reply = await self.ask("mint", "/api/v1/auth/agent", {})
        if reply is None or reply.status != 200:
            return
        minted = reply.json()
        key = self.answers.keys[minted["apiKey"]] = Key(minted["apiKey"])
        await self._spend(key)
        if self.chance.random() < self.claims:
            await self._claim(key, minted["claimToken"])
            await self._spend(key)

    async def _spend(self, key: Key) -> None:
        for _ in range(self.chance.randint(*TIMES)):
            if self.stop.is_set():
                return
            await self.ask("spend", self.chance.choice(SPENT), key=key.text)
            await self.think()

    async def _claim(self, key: Key, token: str) -> None:
        key.email = f"agent-{uuid.UUID(int=self.chance.getrandbits(128))}@example.com"
        started = await self.ask("start a claim", "/api/v1/auth/claim", {"claimToken": token, "email": key.email})
        if started is None or started.status != 200:
            # It may have been sent or not. Ask once more, even if that may be too early.
            started = await self.ask("start a claim", "/api/v1/auth/claim", {"claimToken": token, "email": key.email})
        code = await self.code_for(key.email)
        if code is None:
            return
        body = {"claimToken": token, "email": key.email, "code": code}
        for _ in range(5):
            reply = await self.ask("complete a claim", "/api/v1/auth/claim/complete", body)
            if reply is not None and reply.status == 200:
                key.claimed = True
                return


@dataclass(slots=True)
class Person(Addressee):
    """Signs in with a mailed code, approves a device, and views the dashboard."""

    name: ClassVar[str] = "person"

    async def once(self) -> None:
        email = f"person-{uuid.UUID(int=self.chance.getrandbits(128))}@example.com"
        started = await self.ask("start to sign in", "/api/v1/auth/session", {"email": email}, headers=OUR_PAGE)
        if started is None or started.status != 200:
            return
        code = await self.code_for(email)
        if code is None:
            return
        body = {"email": email, "code": code}
        browser = {**OUR_PAGE, "cookie": f"sign-in={token_of(started)}"}
        reply = await self.ask("sign in", "/api/v1/auth/session/complete", body, headers=browser)
        if reply is None or reply.status != 200:
            return
        token = token_of(reply)
        self.answers.sessions[token] = email
        for _ in range(self.chance.randint(1, 4)):
            await self.ask("list sessions", "/api/v1/auth/sessions", headers={"cookie": f"session={token}"})
            await self.ask("see the dashboard", "/dashboard", headers={"cookie": f"session={token}"})
            await self._link_a_device(token)

    async def _link_a_device(self, token: str) -> None:
        """Start a device login, approve it, and fetch its key at the first poll, which needs no pause."""
        started = await self.ask("start a device", "/api/v1/auth/device", {})
        if started is None or started.status != 200:
            return
        device = started.json()
        body = {"userCode": device["user_code"], "decision": "approve"}
        browser = {**OUR_PAGE, "cookie": f"session={token}"}
        approved = await self.ask("approve a device", "/api/v1/auth/device/approval", body, headers=browser)
        if approved is None or approved.status != 200:
            return
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        polled = {"device_code": device["device_code"], "grant_type": grant}
        reply = await self.ask("poll a device", "/api/v1/auth/device/token", polled)
        if reply is not None and reply.status == 200:
            key = reply.json()["apiKey"]
            self.answers.keys[key] = Key(key, email=self.answers.sessions[token], claimed=True)


def token_of(reply: Reply) -> str:
    """Return the token in the cookie that a response sets."""
    cookie = reply.headers["set-cookie"]
    return cookie.partition(";")[0].partition("=")[2]
