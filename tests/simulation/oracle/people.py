"""The promises of sign-ins, sessions and device logins, by requests and answers.

`visits` and `logins` compute what each transaction should have done; this file checks what callers may rely on.
"""

from collections.abc import Iterator, Mapping

from actors.devices.actor import RedeemedKey
from actors.sessions.actor import StartedSession
from actors.shared.credentials import digest
from actors.values import Code, Refused
from service.api.authentication import Caller
from tests.simulation.history import Operation
from tests.simulation.oracle.case import Case, surely
from tests.simulation.oracle.visits import Seat

DOCUMENTED: Mapping[str, tuple[Code, ...]] = {
    "ask code": (Code.RATE_LIMITED,),
    "sign in": (Code.INVALID_CODE,),
    "enter": (Code.UNAUTHORIZED,),
    "list sessions": (),
    "end session": (Code.NOT_FOUND,),
    "list keys": (),
    "revoke another's": (Code.NOT_FOUND,),
    "begin device": (Code.SERVICE_UNAVAILABLE,),
    "poll": (Code.AUTHORIZATION_PENDING, Code.SLOW_DOWN, Code.EXPIRED_TOKEN, Code.ACCESS_DENIED, Code.INVALID_CODE),
    "look at device": (Code.INVALID_CODE, Code.RATE_LIMITED),
    "allow": (Code.UNAUTHORIZED, Code.FORBIDDEN, Code.INVALID_REQUEST, Code.KEY_LIMIT, Code.RATE_LIMITED),
    "suspend": (),
    "exchange": (Code.INVALID_GRANT, Code.INVALID_TARGET),
    "refresh": (Code.INVALID_GRANT, Code.INVALID_SCOPE, Code.INVALID_TARGET),
    "end token": (),
    "move end": (Code.UNAUTHORIZED, Code.NOT_FOUND, Code.INVALID_STATE),
    "decide device": (Code.INVALID_CODE, Code.RATE_LIMITED, Code.EXPIRED_TOKEN, Code.INVALID_STATE, Code.KEY_LIMIT),
}
"""Allowed refusals of each kind, by hand."""


def refusals_are_documented(case: Case) -> Iterator[str]:
    for kind, codes in DOCUMENTED.items():
        for operation in case.of(kind):
            if isinstance(operation.result, Refused) and operation.result.code not in codes:
                yield f"{kind} was refused with {operation.result}"


def answers_are_stored(case: Case) -> Iterator[str]:
    """Each answer describes one transaction that committed before it, and no message is stored twice."""
    for asked in case.world.register.asked.values():
        if len(asked.stored) > 1:
            yield f"{asked.message} was stored {len(asked.stored)} times"
        if asked.ended is None:
            continue
        if not asked.stored:
            yield f"{asked.message} was answered with {asked.answer} but never stored"
        elif asked.stored[0][0] > asked.ended or asked.stored[0][1] != asked.answer:
            yield f"{asked.message} was answered with {asked.answer}, but the stored answer is {asked.stored[0][1]}"


def decisions_are_not_old(case: Case) -> Iterator[str]:
    for batch in case.world.register.batches:
        if not batch.between[0] <= batch.now_ms <= batch.between[1]:
            yield f"{batch.owner} decided for {batch.now_ms}, and not in {batch.between}"


def codes_come_by_mail_and_open_one_session(case: Case) -> Iterator[str]:
    """Each session was opened with a mailed code, one message per session."""
    opened: dict[tuple[str, str], int] = {}
    for operation in case.of("sign in"):
        if isinstance(operation.result, StartedSession):
            place = operation.about.email, operation.about.code
            opened[place] = opened.get(place, 0) + 1
            if operation.result.session.email != operation.about.email:
                yield f"{operation.about.email} was signed in as {operation.result.session.email}"
    sent: dict[tuple[str, str], int] = {}
    for letter in case.memory.messages.values():
        place = letter.recipient, case.world.code_of(letter)
        sent[place] = sent.get(place, 0) + 1
    for (email, code), times in opened.items():
        if times > sent.get((email, code), 0):
            yield f"{code} opened {times} sessions of {email} but was sent {sent.get((email, code), 0)} times"


def _stood(case: Case, session_id: str, operation: Operation) -> list[Seat | None]:
    """Return the states of a session during an operation."""
    versions = case.world.visits.versions.get(session_id, [])
    earlier = [seat for tick, seat in versions if tick <= operation.began]
    return [
        earlier[-1] if earlier else None,
        *(seat for tick, seat in versions if operation.began < tick <= operation.ended),
    ]


def sessions_work_until_they_end(case: Case) -> Iterator[str]:
    """An admitted caller had a live session at some moment of the request, by the node's clock; a refused one had none."""
    of_token = {session.token_hash: session.id for session in case.memory.sessions.values()}
    for operation in case.of("enter"):
        if operation.unknown or not isinstance(operation.result, Caller | Refused):
            continue
        session_id, now_ms = of_token.get(digest(operation.about), ""), case.now_ms(operation.node, operation.end)
        lived = {seat is not None and seat.lives(now_ms) for seat in _stood(case, session_id, operation)}
        let_in = isinstance(operation.result, Caller)
        if let_in not in lived:
            yield f"{session_id or 'nobody'} was {'admitted' if let_in else 'refused'} at {operation.start:.3f}"
        if isinstance(operation.result, Caller):
            agent = operation.result.agent
            if agent.id != session_id or case.memory.accounts[agent.email or ""].tenant_id != operation.result.owner:
                yield f"the cookie of {session_id} identified {agent} of {operation.result.owner}"


def lists_show_what_lives(case: Case) -> Iterator[str]:
    """Lists have all live sessions of the account at one moment of the request, last used first."""
    for operation in case.of("list sessions"):
        if not isinstance(operation.result, list):
            continue
        listed = [(session.seen_ms, session.id) for session in operation.result]
        mine = [id for id, seat in case.world.visits.seats.items() if seat.email == operation.about.email]
        now_ms = case.now_ms(operation.node, operation.start)
        possible = [
            sorted(
                (
                    (seat.seen_ms, session_id)
                    for session_id in mine
                    if (seat := _at(case, session_id, tick)) is not None and seat.lives(now_ms)
                ),
                reverse=True,
            )
            for tick in _moments(case, operation)
        ]
        if listed not in possible:
            yield f"{operation.about.email} saw {listed} at {operation.start:.3f}, not {possible}"


def _moments(case: Case, operation: Operation) -> list[int]:
    """Return the ticks of all stored changes during an operation."""
    return [
        operation.began,
        *(batch.tick for batch in case.world.register.batches if operation.began < batch.tick <= operation.ended),
    ]


def _at(case: Case, session_id: str, tick: int) -> Seat | None:
    versions = case.world.visits.versions.get(session_id, [])
    return next((seat for since, seat in reversed(versions) if since <= tick), None)


def keys_that_were_handed_out_are_known(case: Case) -> Iterator[str]:
    """An answered key belongs to the account; a device code yields one key, and it resolves everywhere."""
    texts: dict[str, str] = {}
    by_code: dict[str, set[str]] = {}
    for operation in case.of("poll"):
        if isinstance(operation.result, RedeemedKey):
            stored = case.memory.keys.get(operation.result.key.id)
            texts[operation.result.api_key] = operation.result.key.id
            by_code.setdefault(operation.about, set()).add(operation.result.key.id)
            if stored is None or stored.hash != digest(operation.result.api_key):
                yield f"{operation.result.key.id} was handed out and is stored as {stored}"
    for key_ids in by_code.values():
        if len(key_ids) > 1:
            yield f"one device code yielded {sorted(key_ids)}"
    if len(set().union(*by_code.values())) < len(by_code):
        yield f"several device codes yielded one key: {by_code}"
    for operation in case.of("resolve"):
        if operation.about in texts and operation.result is None:
            yield f"{operation.node} does not know {texts[operation.about]} at {operation.start:.3f}"


def nobody_ends_another_account_s_keys(case: Case) -> Iterator[str]:
    for operation in case.of("revoke another's"):
        if surely(operation):
            yield f"{operation.about} was ended by another account: {operation.result}"
