"""Signed-in people, for tests of device logins."""

import itertools
import os
import time
from typing import Any, Protocol

from actors.shared.credentials import ENTROPY_BYTES, SESSION_TOKEN, digest
from tests.acceptance.processes import Service

SESSION_MS = 3_600_000
_numbers = itertools.count(1)


class Database(Protocol):
    """Runs statements in the database of a service."""

    def ask(self, *statements: str, database: str = "catalog") -> object: ...


class Person:
    """A signed-in person, made by inserting the rows of a session."""

    def __init__(self, external: Database, database: str = "catalog") -> None:
        self.number = next(_numbers)
        self.email = f"person{self.number}@example.com"
        token, now_ms = SESSION_TOKEN.new(os.urandom(ENTROPY_BYTES)), int(time.time() * 1_000)
        self.headers = {"cookie": f"session={token}", "sec-fetch-site": "same-origin"}
        self.tenant, self.session = tenant, session = f"ten_person{self.number}", f"ses_person{self.number}"
        moments = f"{now_ms}, {now_ms}, {now_ms + SESSION_MS}"
        external.ask(
            f"insert into tenants (id, tier) values ('{tenant}', 'claimed')",
            f"insert into accounts (email, tenant_id, created_ms) values ('{self.email}', '{tenant}', {now_ms})",
            "insert into sessions (id, token_hash, email, agent, created_ms, seen_ms, expires_ms) values "
            f"('{session}', decode('{digest(token).hex()}', 'hex'), '{self.email}', 'A browser', {moments})",
            database=database,
        )

    def reads(self, node: Service, user_code: str) -> dict[str, Any]:
        answer = node.http.get("/api/v1/auth/device/approval", params={"userCode": user_code}, headers=self.headers)
        assert answer.status_code == 200, answer.text
        login: dict[str, Any] = answer.json()
        return login

    def decides(self, node: Service, user_code: str, decision: str = "approve") -> None:
        body = {"userCode": user_code, "decision": decision}
        answer = node.http.post("/api/v1/auth/device/approval", json=body, headers=self.headers)
        assert answer.status_code == 200, answer.text
