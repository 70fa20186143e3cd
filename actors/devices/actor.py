"""The device authorizer: starts, polls, shows and decides device logins, one transaction per batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from actors.devices.codes import USER_CODE_BYTES, user_code_from, user_code_of
from actors.devices.messages import (
    Answer,
    ApprovedEnded,
    Decide,
    Device,
    DeviceView,
    EndApproved,
    FreshKey,
    Message,
    Poll,
    Redeemed,
    Start,
    ViewDevice,
)
from actors.devices.state import Decision, DeviceRules, Snapshot, decide, rows_to_lock, unknown_code
from actors.devices.store import DeviceStore
from actors.kernel.mailbox import request_id
from actors.shared.credentials import (
    DEVICE_CODE,
    ENTROPY_BYTES,
    Kind,
    derived_entropy,
    digest,
    new_id,
    new_key,
    prefix_of,
)
from actors.shared.records import CodeActor
from actors.values import Agent, BatchId, Refused

CANDIDATES = 4
"""User codes per start. With a million open devices, all of them are taken once in 10**19 starts."""


@dataclass(frozen=True, slots=True)
class StartedLogin:
    """A device login that was started. `device_code` is available in clear only here."""

    device_code: str = field(repr=False)
    device: Device


@dataclass(frozen=True, slots=True)
class RedeemedKey:
    """A full key of the approving account. `api_key` is available in clear only here."""

    api_key: str = field(repr=False)
    key: FreshKey


class DeviceAuthorizer(CodeActor[Message, Answer, DeviceStore, DeviceRules]):
    """Owns device logins."""

    name = "devices"

    # Intents.

    async def start(self, agent: str, address: str) -> StartedLogin | Refused:
        """Start a device login for a program that calls itself `agent` (at most 200 characters), from `address`."""
        code, now_ms = DEVICE_CODE.new(self._entropy.token(ENTROPY_BYTES)), self._clock.now_ms()
        device = Device(
            id=self._id("dev"),
            code_hash=digest(code),
            user_code="",
            agent=agent,
            address=address,
            created_ms=now_ms,
            expires_ms=now_ms + self.rules.life_ms,
            interval_seconds=self.rules.interval_seconds,
        )
        user_codes = tuple(user_code_from(self._entropy.token(USER_CODE_BYTES)) for _ in range(CANDIDATES))
        answer = await self.ask(Start(device, user_codes))
        assert isinstance(answer, DeviceView | Refused)
        return answer if isinstance(answer, Refused) else StartedLogin(code, answer.device)

    async def poll(self, device_code: str) -> RedeemedKey | Refused:
        """The key of an approved device login, the same for `repeat_ms`; otherwise why there is none yet or at all
        (RFC 8628, 3.5).

        The key derives from the device code, so that a poll whose answer was lost can be answered again although neither
        is stored.
        """
        if not DEVICE_CODE.matches(device_code):
            return unknown_code()
        text = new_key(Kind.USER, derived_entropy(self._secret, "device key", device_code))
        key_id = new_id("key", derived_entropy(self._secret, "id of a device key", device_code))
        key = FreshKey(key_id, digest(text), prefix_of(text), "", self._clock.now_ms())
        mail = self._notice("new_key", "")
        answer = await self.ask(Poll(digest(device_code), key, self._id("aud"), request_id.get(), mail))
        assert isinstance(answer, Redeemed | Refused)
        return answer if isinstance(answer, Refused) else RedeemedKey(text, answer.key)

    async def view_login(self, typed: str, agent: Agent) -> DeviceView | Refused:
        """The device login with the user code that was typed in a session."""
        code = user_code_of(typed)
        return (
            code if isinstance(code, Refused) else await self.ask_for(ViewDevice(code, agent.id), DeviceView, Refused)
        )

    async def decide(self, typed: str, agent: Agent, *, approve: bool, admin: bool = False) -> DeviceView | Refused:
        """Approve or deny the device login with the user code that was typed in a session, for the session's account. With
        `admin`, its key carries administration."""
        assert agent.type == "session", "a person decides, in a browser"
        assert agent.email is not None, "a session belongs to an account"
        code = user_code_of(typed)
        if isinstance(code, Refused):
            return code
        message = Decide(code, agent.id, agent.email, approve, self._id("aud"), request_id.get(), admin)
        return await self.ask_for(message, DeviceView, Refused)

    async def end_approved(self, email: str) -> ApprovedEnded:
        """Expire the approved device logins of the account of `email`, so that they get no key."""
        return await self.ask_for(EndApproved(email), ApprovedEnded)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, now_ms, self.rules)

        return (await self._store.transact(batch_id, rows_to_lock(messages), on, now_ms)).answers
