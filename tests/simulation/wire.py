"""The processor's API as Stripe documents it, and a node's link to it: the service's own gateway over simulated requests.

Each request is refused for what a real processor refuses: too many requests, an idempotency key that is in flight or was
used with other parameters, and parameters out of bounds. An answer is kept under its key, failures too: for a day, of which
a run has several.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import stripe
import trio
from outcome import Error, Outcome, Value

from actors.bookings.payments import PaymentsUnavailable, RefundAttempt
from actors.bookings.records import Booking
from actors.clock import SECOND_MS
from service.payments import stripe_gateway
from service.payments.stripe_gateway import StripePayments
from service.tokens.links import Links
from tests.simulation.limits import BASE_URL
from tests.simulation.rules import BOOKINGS, CALL_SECONDS, KEY_MS, LEAST_CENTS, SECRET

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World

T = TypeVar("T")
Form = dict[str, str]

LONGEST_VALUE, LONGEST_NAME, LONGEST_KEY = 500, 40, 255
"""Characters of a value and of a name in metadata, and of an idempotency key."""


KEPT_SECONDS = 14.0
"""How long an answer is kept under its key: the processor's day."""


class ApiError(Exception):
    """The processor refuses a request. `executed` says that it had begun to carry it out, so the answer may be kept."""

    def __init__(self, status: int, words: str, *, executed: bool = False, kind: str = "", **more: str) -> None:
        super().__init__(words)
        kind = kind or ("api_error" if status >= 500 else "invalid_request_error")
        self.reply = status, {"error": {"type": kind, "message": words, **more}}
        self.executed = executed


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `lost_cents` is what the node that asks knows to be lost of the payment."""

    method: str
    path: str
    form: Form
    key: str
    lost_cents: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Any
    repeated: bool = False

    @property
    def why(self) -> str:
        """The code of a refusal; empty if it is none."""
        return str(self.body["error"].get("code") or self.status) if self.status >= 400 else ""

    @property
    def headers(self) -> dict[str, str]:
        return {"idempotent-replayed": "true"} if self.repeated else {}


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer under an idempotency key, which is in flight at first."""

    form: Form
    reply: Reply
    in_flight_until: float


class Api:
    """The processor's API. Its books are those of `processor`."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._faults = world.faults
        self._kept: dict[str, Kept] = {}
        self.ended: list[Ended] = []
        self._asking: dict[str, int | None] = {}

    @contextmanager
    def asking(self, booking: Booking, now_ms: int) -> Iterator[None]:
        """A node asks for a refund at `now_ms` of its clock. Until it has its answer, or gives up, no other node does, unless
        its lease has ended or was taken from it."""
        lease_ms = booking.refund_due_ms
        other_ms = self._asking.get(booking.id, 0) or 0
        if other_ms and (other_ms == lease_ms or (other_ms > now_ms and not self._was_taken(booking, other_ms))):
            self._world.violations.append(f"two nodes ask for a refund at once, until {other_ms} and {booking}")
        self._asking[booking.id] = lease_ms
        try:
            yield
        finally:
            if self._asking.get(booking.id) == lease_ms:
                self._asking.pop(booking.id)

    def _was_taken(self, booking: Booking, lease_ms: int) -> bool:
        """Whether the refund became due in between, because another one was reported or a dispute was won."""
        due = [row.refund_due_ms for _, row in self._world.log.versions["bookings", booking.id] if row is not None]
        since = due[len(due) - due[::-1].index(lease_ms) :] if lease_ms in due else []
        return any(each not in (lease_ms, booking.refund_due_ms) for each in since)

    def answer(self, asked: Asked, seconds: float) -> Reply:
        """Answer a request that takes `seconds`. Its effect comes first: whoever asks may be gone by its end."""
        try:
            return self._admit(asked) or self._carry_out(asked, seconds)
        except ApiError as refused:
            reply = Reply(*refused.reply)
            self._world.count(f"processor refused {reply.why}")
            return reply

    def _admit(self, asked: Asked) -> Reply | None:
        """Repeat the answer that is kept under the key."""
        if self._faults.strikes("processor_overloaded"):
            raise ApiError(429, "Too many requests", code="rate_limit")
        if self._faults.strikes("processor_restricted"):
            raise ApiError(403, "This account cannot do that at present", code="account_restricted")
        if asked.method == "get":
            return None
        if not 0 < len(asked.key) <= LONGEST_KEY:
            raise ApiError(400, "An idempotency key has 1 to 255 characters", code="idempotency_key_length")
        kept, now = self._kept.get(asked.key), trio.current_time()
        if kept is None:
            return None
        if now >= kept.in_flight_until + KEPT_SECONDS:
            self._world.count("processor forgot a key")
            return None
        if now < kept.in_flight_until:
            raise ApiError(409, "Another request has this key", code="idempotency_key_in_use", kind="idempotency_error")
        if kept.form != asked.form:
            raise ApiError(
                400, "The key was used with other parameters", code="idempotency_mismatch", kind="idempotency_error"
            )
        self._world.count("processor repeated an answer")
        return Reply(kept.reply.status, kept.reply.body, repeated=True)

    def _carry_out(self, asked: Asked, seconds: float) -> Reply:
        if asked.method == "get":
            return self._read(asked)
        _check_form(asked.form)
        processor, failure = self._world.processor, ApiError(500, "An error on our side", executed=True)
        work = processor.create_session if "sessions" in asked.path else processor.create_refund
        try:
            if self._faults.strikes("processor_failed"):
                raise failure
            reply = Reply(200, work(asked))
            if self._faults.strikes("processor_failed_after"):
                raise failure
        except ApiError as refused:
            if not refused.executed or (refused is not failure and self._faults.stream("kept").random() < 0.5):
                raise
            reply = Reply(*refused.reply)
            self._world.count(f"processor refused {reply.why}, and keeps it")
        now = trio.current_time()
        self._kept[asked.key] = Kept(asked.form, reply, now + seconds)
        return reply

    def _read(self, asked: Asked) -> Reply:
        address, processor = urlsplit(asked.path), self._world.processor
        if address.path == "/v1/refunds":
            payment_id = dict(parse_qsl(address.query))["payment_intent"]
            found = [each.row for each in processor.refunds.values() if each.payment.event.payment_id == payment_id]
            return Reply(200, {"object": "list", "data": found, "has_more": False, "url": address.path})
        refund = processor.refunds.get(address.path.removeprefix("/v1/refunds/"))
        if refund is None:
            raise ApiError(404, "No such refund", code="resource_missing")
        if refund.status == "failed":
            processor.note_declined(refund.payment)
        return Reply(200, refund.row)


def _check_form(form: Form) -> None:
    for name, value in form.items():
        inner = name.rpartition("[")[2].rstrip("]")
        if "metadata[" in name and (len(value) > LONGEST_VALUE or len(inner) > LONGEST_NAME):
            raise ApiError(400, "Metadata values have at most 500 characters", code="metadata_too_long", param=name)
        if name.endswith("[unit_amount]") and int(value) < LEAST_CENTS:
            raise ApiError(400, "The amount is below the minimum", code="amount_too_small", param="line_items")


@dataclass(frozen=True, slots=True)
class Ended:
    """A call of a node that got no page, or no refund, and why: the codes of all refusals, and what broke or came too late.
    `open` says whether its booking could still be paid."""

    booking: Booking
    error: str
    why: tuple[str, ...]
    open: bool


class _Unanswered(BaseException):
    """A call of the library has come to a request that has no reply yet."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked.path)
        self.asked = asked


class Wire(stripe.HTTPClient):
    """The library's requests: each gets the next known reply, or ends its call. A call depends on its replies alone, so it
    is repeated with one reply more until it ends by itself."""

    name = "simulated"

    def __init__(self) -> None:
        super().__init__()
        self._replies: list[Reply | None] = []

    def replay(self, replies: list[Reply | None]) -> None:
        self._replies = list(replies)

    def request_with_retries(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        post_data: Any = None,
        max_network_retries: int | None = None,
        **_: Any,
    ) -> tuple[str, int, Mapping[str, str]]:
        if not self._replies:
            form = dict(parse_qsl(post_data or "", keep_blank_values=True))
            path = url.removeprefix("https://api.stripe.com")
            raise _Unanswered(Asked(method, path, form, headers.get("Idempotency-Key", "")))
        reply = self._replies.pop(0)
        if reply is None:
            raise stripe.APIConnectionError("simulated: the connection broke")  # type: ignore[no-untyped-call]
        return json.dumps(reply.body), reply.status, reply.headers


class _Unwanted(BaseException):
    """The caller of a call has given up."""


class LinkedPayments(StripePayments):
    """A node's link to the processor. Requests and answers may be lost, and a call whose caller gave up goes on until it asks
    whether it is still wanted."""

    def __init__(self, node: "Node") -> None:
        links = Links(BASE_URL, SECRET)
        super().__init__("sk_live_simulated", links, seconds=CALL_SECONDS, hold_ms=BOOKINGS.hold_ms)
        self._key_ms, self._given_up = KEY_MS, False
        self._wire = Wire()
        self._client = stripe.StripeClient("sk_live_simulated", http_client=self._wire, max_network_retries=0)
        self._node, self._life = node, node.life
        self._faults = node.world.faults

    async def refund(self, booking: Booking) -> RefundAttempt:
        with self._node.world.api.asking(booking, self._node.clock.now_ms()):
            return await super().refund(booking)

    async def _in_thread(self, call: Callable[[], T], seconds: float | None = None) -> T:
        """Run a call in a task of the world, as the service does in a thread."""
        ended: list[Outcome[T]] = []
        done, given_up = trio.Event(), trio.Event()
        self._node.world.start_soon(self._run, call, ended, done, given_up)
        with trio.move_on_after(seconds or self._seconds):
            await done.wait()
            return ended[0].unwrap()
        given_up.set()
        self._node.world.count("a call was given up")
        raise PaymentsUnavailable("simulated: no answer in time")

    def _check_wanted(self) -> None:
        if self._given_up:
            raise _Unwanted

    async def _run(
        self, call: Callable[[], T], ended: list[Outcome[T]], done: trio.Event, given_up: trio.Event
    ) -> None:
        replies: list[Reply | None] = []
        about = next((each for each in getattr(call, "args", ()) if isinstance(each, Booking)), None)
        lost_cents = 0 if about is None else about.lost_cents
        while self._node.lives(self._life) and not ended:
            self._wire.replay(replies)
            self._given_up = given_up.is_set()
            try:
                ended.append(Value(stripe_gateway._translated(call)))
            except Exception as error:
                ended.append(Error(error))
            except _Unanswered as unanswered:
                asked = replace(unanswered.asked, lost_cents=lost_cents)
                replies.append(await self._exchange(asked))
            except _Unwanted:
                return
        if ended:
            self._note(about, ended[0], replies)
            done.set()

    def _note(self, about: Booking | None, outcome: Outcome[Any], replies: list[Reply | None]) -> None:
        world = self._node.world
        if isinstance(outcome, Error) and about is not None:
            now_ms = world.base_ms + int(trio.current_time() * SECOND_MS)
            why = tuple("connection" if each is None else each.why for each in replies)
            error = f"{type(outcome.error).__name__}: {outcome.error}"
            world.api.ended.append(Ended(about, error, why, now_ms < about.hold_ms))

    async def _exchange(self, asked: Asked) -> Reply | None:
        """The reply to one request; None if the connection broke."""
        await self._travel()
        pays_back = "refunds" in asked.path
        if self._faults.strikes("refund_unavailable" if pays_back else "checkout_unavailable"):
            return None
        seconds = self._faults.stream("travel").uniform(0.005, 0.3)
        reply = self._node.world.api.answer(asked, seconds)
        await trio.sleep(seconds)
        if pays_back and self._faults.strikes("refund_answer_lost"):
            return None
        await self._travel()
        return reply

    async def _travel(self) -> None:
        slow = self._faults.strikes("processor_slow")
        await trio.sleep(self._faults.stream("travel").uniform(0.005, 1.0 if slow else 0.08))
