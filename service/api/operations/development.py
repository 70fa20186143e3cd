"""Operations for developers, on a service for this machine alone: its mails and its clock."""

from typing import Any

from actors.clock import MovableClock
from actors.kernel.clock_mover import MOVE_SECONDS, ClockMover
from actors.mail.messages import RenderedMessage
from actors.shared.dates import calendar
from actors.times import SECOND_MS
from actors.values import Code, Problem, Refused
from service.api.context import Services
from service.api.errors import unavailable
from service.api.messages import Answer, Request
from service.api.operation import Call
from service.config.deployment import for_this_machine, host_of, is_local
from service.config.model import Config
from service.http.addresses import is_loopback
from service.schemas.development import MOST_AHEAD_MS, ClockMove, ClockState
from service.schemas.internal import OutboxMail, OutboxMails
from service.schemas.rows import filled

FORWARDED = frozenset({"forwarded", "x-real-ip", "via"})
"""Headers of proxies, beside X-Forwarded-*."""

OUTBOX_MAILS = 50
"""Maximum mails on the outbox page."""


async def list_outbox(services: Services, call: Call) -> Answer | Refused:
    if not outbox_is_open(services.config, call.request):
        return _not_found()
    mails = [_outbox_mail(rendered) for rendered in await services.mail.recent(OUTBOX_MAILS)]
    return Answer.of(OutboxMails(mails=mails))


def outbox_is_open(config: Config, request: Request) -> bool:
    """Whether no SMTP server is configured, and the service is for this machine alone: its addresses, its base URL, the
    caller and the host that the caller named are all local, and no proxy is between them."""
    addressed_here = is_local(host_of(request.headers.get("host", "")))
    forwarded = any(name.startswith("x-forwarded-") or name in FORWARDED for name in request.headers)
    return for_this_machine(config) and not forwarded and is_loopback(request.client) and addressed_here


def _outbox_mail(rendered: RenderedMessage) -> OutboxMail:
    message, mail = rendered.message, rendered.mail
    return filled(
        OutboxMail,
        message,
        subject=None if mail is None else mail.subject,
        text=None if mail is None else mail.text,
        html=None if mail is None else mail.html,
    )


async def read_clock(services: Services, call: Call) -> Answer | Refused:
    mover = _mover(services, call)
    return mover if isinstance(mover, Refused) else _state(mover.clock)


async def move_clock(services: Services, call: Call) -> Answer | Refused:
    """Move the clock, and answer once all that was due on the way is done."""
    mover = _mover(services, call)
    if isinstance(mover, Refused):
        return mover
    if mover.moving:
        return Refused(Code.INVALID_STATE, "The clock is being moved. Send the request again when that has ended.")
    refused = _refused(call.body, mover.clock)
    if refused is not None:
        return refused
    if not await mover.move(call.body.target_ms(mover.clock.now_ms())):
        reached = _written(mover.clock.now_ms())
        return unavailable(f"The clock is at {reached}: the move took longer than {mover.seconds:g} s. Move it again.")
    return _state(mover.clock)


def _mover(services: Services, call: Call) -> ClockMover | Refused:
    """What moves the clock, where the outbox is open and the start found nothing that forbids it (`clock_obstacle`)."""
    if services.clock_mover is None or not outbox_is_open(services.config, call.request):
        return _not_found()
    return services.clock_mover


def _refused(move: ClockMove, clock: MovableClock) -> Refused | None:
    """The refusal of a time that is over, or too far ahead."""
    now_ms, name = clock.now_ms(), "to" if move.to is not None else "advanceSeconds"
    to_ms, most_ms = move.target_ms(now_ms), clock.machine.now_ms() + MOST_AHEAD_MS
    if to_ms < now_ms:
        words = f"must not be before {_written(now_ms)}, the time of the clock, which never goes back"
    elif to_ms > most_ms:
        words = f"must be at most {_written(most_ms)}, 1,000 days ahead of this machine"
    else:
        return None
    return Refused(Code.INVALID_REQUEST, "The body is not valid", problems=(Problem(name, "value_error", words),))


def _written(moment_ms: int) -> str:
    return f"{calendar(moment_ms):%Y-%m-%d %H:%M:%S} UTC"


def _state(clock: MovableClock) -> Answer:
    return Answer.of(ClockState(now=clock.now_ms(), aheadSeconds=round(clock.ahead_ms / SECOND_MS)))


def _not_found() -> Refused:
    return Refused(Code.NOT_FOUND, "There is nothing at this address.")


DEVELOPMENT_ROWS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    (("listOutbox", "outbox", list_outbox, OutboxMails), {}),
    (("readClock", "clock", read_clock, ClockState), {}),
    (("moveClock", "clock", move_clock, ClockState, "POST"), {"body": ClockMove, "extra_seconds": MOVE_SECONDS}),
)
"""Rows of `INTERNAL`."""
