"""The people side of a node: sign-ins, sessions, device logins and mail, and the part of the HTTP edge in them.

The real authentication resolves sessions. Every intent is recorded.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from actors.clock import SECOND_MS
from actors.devices.actor import DeviceAuthorizer, RedeemedKey, StartedLogin
from actors.devices.messages import DeviceView
from actors.kernel.actor import Actor
from actors.keys.actor import Issued, KeyActor
from actors.keys.authorizations import Client
from actors.keys.authorizer import Tokens
from actors.keys.messages import ByAccount, ByKey, Key, KeysEnded, Rotated, SuspensionSet
from actors.keys.messages import KeySaved as KeptKey
from actors.sessions.actor import SessionActor, StartedSession, StartedSignIn
from actors.sessions.messages import Session, SessionSaved
from actors.shared.code_mails import Origin
from actors.values import Agent, Code, Refused, Scope
from service.api import authentication
from service.api.authentication import Caller
from service.api.messages import Request
from service.api.operations import authorizations
from tests.doubles.devices import MemoryDevices
from tests.doubles.sessions import MemorySessions
from tests.simulation.faults import LinkedKeys, plain_reads, plainly
from tests.simulation.history import Exchange, IssueFor, Renewal, Rotate, SignIn, Typed, Within
from tests.simulation.limits import BASE_URL
from tests.simulation.register import RecordsDecisions, Registered, asking_from
from tests.simulation.rules import BLOCKS
from tests.simulation.sides import NodeSide, answering

if TYPE_CHECKING:
    from tests.simulation.node import Node

R = TypeVar("R")

ADDRESS = "203.0.113.9"
RESOURCE = f"{BASE_URL}/mcp"
"""What programs are allowed to use."""


class RegisteredKeys(Registered, KeyActor):
    """The key actor. Records its messages."""


class RegisteredSessions(Registered, SessionActor):
    """The session actor. Records its messages."""


class RegisteredDevices(Registered, DeviceAuthorizer):
    """The device authorizer. Records its messages."""


@plain_reads("is_client_in_use")
class RecordedKeys(RecordsDecisions, LinkedKeys):
    """Keys in memory. Records decisions."""


@plain_reads("resolve", "of_email")
class LinkedSessions(RecordsDecisions, MemorySessions):
    """Sessions in memory. Look-ups fail plainly."""


class LinkedDevices(RecordsDecisions, MemoryDevices):
    """Device logins in memory."""


class Identity(NodeSide):
    """One life of a node's people side. `token` is the value of the caller's cookie."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        services = node.services
        self.sessions, self.devices, self.reader = services.sessions, services.devices, services.session_reader
        assert isinstance(self.sessions, RegisteredSessions)
        assert isinstance(self.devices, RegisteredDevices)
        self.sessions.at = self.devices.at = node
        if isinstance(node.key_actor, RegisteredKeys):  # A planted bug may have another.
            node.key_actor.at = node

    @property
    def actors(self) -> list[Actor[Any, Any]]:
        return [self.sessions, self.devices, self.reader]

    # Signing in.

    async def ask_code(self, email: str, browser: str | None, network: str) -> StartedSignIn | Refused:
        """Ask for a code; `browser` is the token of the browser, if it has one."""
        asking_from.set(network)
        origin = Origin(network, BLOCKS[network])
        answer = await self.node.intent("ask code", email, lambda: self.sessions.start_sign_in(email, browser, origin))
        if isinstance(answer, StartedSignIn):
            self.node.mailroom.sender.wake()
        return answer

    async def sign_in(self, email: str, code: str, browser: str | None, network: str) -> StartedSession | Refused:
        asking_from.set(network)
        return await self.node.intent(
            "sign in", SignIn(email, code, browser), lambda: self._sign_in(email, code, browser, network)
        )

    async def _sign_in(self, email: str, code: str, browser: str | None, network: str) -> StartedSession | Refused:
        begun = await self.sessions.complete_sign_in(email, code, browser, Origin(network, BLOCKS[network]), "Browser")
        assert isinstance(begun, StartedSession | Refused), "nobody here has a passkey"
        return begun

    async def enter(self, token: str) -> Caller | Refused:
        """The caller of a cookie. Counts as a use of the session."""
        return await self.node.intent("enter", token, lambda: self._enter(token))

    async def _enter(self, token: str) -> Caller | Refused:
        cookie = {"cookie": f"__Host-session={token}"}
        request = Request("GET", "/", {}, "", cookie, b"", ADDRESS)
        budgets, clock = self.node.services.budgets, self.node.clock
        person = await authentication.signed_in(request, BASE_URL, self.reader, budgets, clock)
        if isinstance(person, Refused):
            return person
        if person is None or person.signed_in is None:
            return authentication.no_session()
        self.sessions.touch(person.signed_in.session)
        return person

    async def _as(
        self, token: str, kind: str, about: Callable[[Caller], Any], ask: Callable[[Caller], Awaitable[R]]
    ) -> R | Refused:
        caller = await self.enter(token)
        if isinstance(caller, Refused):
            return caller
        return await self.node.intent(kind, about(caller), lambda: answering(self.node, lambda: ask(caller)))

    # Sessions.

    async def list_sessions(self, token: str) -> Sequence[Session] | Refused:
        return await self._as(
            token,
            "list sessions",
            lambda caller: Within(caller.agent.id, caller.email),
            lambda caller: self.sessions.sessions_of(caller.email),
        )

    async def end_session(self, token: str, session_id: str | None = None) -> SessionSaved | Refused:
        """End a session; by default the caller's own."""
        return await self._as(
            token,
            "end session",
            lambda caller: Within(caller.agent.id, caller.email, session_id or caller.agent.id),
            lambda caller: self.sessions.end_session(session_id or caller.agent.id, caller.email, caller.agent),
        )

    # Full keys of the account.

    async def create_key(self, token: str, key: str, name: str) -> Issued | Refused:
        """Create a full key under an idempotency key."""
        key_actor = self.node.key_actor
        return await self._as(
            token,
            "issue",
            lambda caller: IssueFor(caller.email, False, (), name, key=key),
            lambda caller: key_actor.issue(
                caller.email, caller.agent, name=name, granted_by=ByAccount(caller.agent.id), idempotency_key=key
            ),
        )

    async def list_keys(self, token: str) -> Sequence[Key] | Refused:
        return await self._as(
            token,
            "list keys",
            lambda caller: Within(caller.agent.id, caller.email, caller.owner),
            lambda caller: plainly(self.node.key_actor.live_keys(caller.owner)),
        )

    async def revoke_key(self, token: str, key_id: str, *, own: bool = True) -> KeptKey | Refused:
        """Revoke a key of the account, or try to revoke another account's."""
        answer = await self._as(
            token,
            "revoke" if own else "revoke another's",
            lambda caller: key_id,
            lambda caller: self.node.key_actor.revoke(key_id, caller.agent, owner=caller.owner, full=True),
        )
        if isinstance(answer, KeptKey):
            self.node.key_cache.forget(answer.changed)
        return answer

    async def move_end(self, token: str, key_id: str, end_ms: int | None) -> KeptKey | Refused:
        """Move the end of a key of the account, or take it away."""
        edit = partial(self.node.key_actor.edit, key_id, full=True, sets_end=True, expires_ms=end_ms)
        answer = await self._as(
            token,
            "move end",
            lambda caller: Within(caller.agent.id, caller.email, key_id),
            lambda caller: edit(email=caller.email, agent=caller.agent, by=ByAccount(caller.agent.id)),
        )
        if isinstance(answer, KeptKey):
            self.node.key_cache.forget(answer.changed)
        return answer

    # Programs that people allow.

    async def allow(
        self, token: str, client: Client, challenge: bytes, scopes: tuple[Scope, ...], seconds: int
    ) -> str | Refused:
        """Allow a program to get a key that ends after `seconds`. Returns the code. As in production, a registration that was
        forgotten is refused before."""
        ends_ms = self.node.clock.now_ms() + seconds * SECOND_MS
        authorize = partial(
            self.node.key_actor.authorize,
            client,
            challenge=challenge,
            resource=RESOURCE,
            scopes=scopes,
            ends_ms=ends_ms,
        )
        return await self._as(
            token,
            "allow",
            lambda caller: Within(caller.agent.id, caller.email, client.id),
            lambda caller: self._allow(client, partial(authorize, agent=caller.agent, by=ByAccount(caller.agent.id))),
        )

    async def _allow(self, client: Client, authorize: Callable[[], Awaitable[str | Refused]]) -> str | Refused:
        if not await authorizations._is_current(self.node.services, client.id):
            return Refused(Code.INVALID_REQUEST, "forgotten")
        return await authorize()

    async def exchange(self, about: Exchange) -> Tokens | Refused:
        exchange = partial(self.node.key_actor.exchange_code, about.code, client_id=about.client_id)
        answer = await self.node.intent(
            "exchange",
            about,
            lambda: exchange(redirect_uri=about.redirect_uri, verifier=about.verifier, resource=about.resource),
        )
        self.node.mailroom.sender.wake()
        return answer

    async def refresh(self, about: Renewal) -> Tokens | Refused:
        refresh = partial(self.node.key_actor.refresh, about.token, client_id=about.client_id)
        answer = await self.node.intent("refresh", about, lambda: refresh(resource=about.resource, scopes=about.scopes))
        if isinstance(answer, Tokens):
            self.node.key_cache.forget(answer.changed)
        return answer

    async def end_token(self, about: Renewal) -> KeysEnded:
        end = partial(self.node.key_actor.end_token, about.token, client_id=about.client_id)
        ended = await self.node.intent("end token", about, lambda: answering(self.node, end))
        self.node.key_cache.forget([key.hash for key in ended.keys])
        return ended

    async def suspend(self, email: str, *, restore: bool = False) -> SuspensionSet | Refused:
        """Suspend an account, or restore it, as an administrator does."""
        account, key_actor = self.node.world.memory.accounts[email], self.node.key_actor
        change = (
            partial(key_actor.restore, account) if restore else partial(key_actor.suspend, account, "It is abused.")
        )
        return await self.node.intent("suspend", email, lambda: change(agent=Agent("session", "ses_administrator")))

    async def grant(self, key: Key, email: str, name: str) -> Issued | Refused:
        """A key of a program grants another."""
        scopes, agent = (Scope.LIBRARY_READ,), Agent("key", key.id, email)
        issue = partial(self.node.key_actor.issue, email, agent, scopes=scopes, name=name)
        return await self.node.intent(
            "issue",
            IssueFor(email, True, scopes, name, granted_by=key.id),
            lambda: issue(granted_by=ByKey(key.id)),
        )

    async def rotate(
        self, token: str, key: Key, grace_seconds: int, idempotency_key: str
    ) -> tuple[str, Rotated] | Refused:
        """Rotate a key of the account of a session."""
        answer = await self._as(
            token,
            "rotate",
            lambda caller: Rotate(key.id, caller.email, grace_seconds, idempotency_key, caller.agent.id),
            lambda caller: self.node.key_actor.rotate(
                key.id,
                caller.email,
                caller.agent,
                ByAccount(caller.agent.id),
                grace_seconds=grace_seconds,
                idempotency_key=idempotency_key,
            ),
        )
        if isinstance(answer, tuple):
            self.node.key_cache.forget(answer[1].changed)
        return answer

    # Device logins.

    async def begin_device(self, agent: str) -> StartedLogin | Refused:
        return await self.node.intent("begin device", agent, lambda: self.devices.start(agent, ADDRESS))

    async def poll(self, device_code: str) -> RedeemedKey | Refused:
        return await self.node.intent("poll", device_code, lambda: self.devices.poll(device_code))

    async def look_at_device(self, token: str, typed: str) -> DeviceView | Refused:
        return await self._as(
            token,
            "look at device",
            lambda caller: Typed(typed, caller.agent.id, caller.email),
            lambda caller: self.devices.view_login(typed, caller.agent),
        )

    async def decide_device(self, token: str, typed: str, *, approve: bool) -> DeviceView | Refused:
        return await self._as(
            token,
            "decide device",
            lambda caller: Typed(typed, caller.agent.id, caller.email, approve),
            lambda caller: self.devices.decide(typed, caller.agent, approve=approve),
        )
