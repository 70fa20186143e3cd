"""The promises of time: every answer is bounded, and past faults no longer affect any caller."""

from collections.abc import Iterator, Mapping

from actors.keys.actor import Minted
from service.seed.samples import ATTEMPTS, PAUSE_SECONDS
from tests.simulation.history import Nothing, Unknown
from tests.simulation.oracle.case import EPSILON, Case
from tests.simulation.rules import EVENT_LIMITS, HEALED_SECONDS, LIMITS

TRANSACTION_SECONDS = 2.5
"""The longest transaction of a simulated store: behind a late commit, slow, and with a slow answer."""

LONGEST: Mapping[str, float] = {
    "record": EVENT_LIMITS.answer_seconds,
    # A read of windows, then the answers of the dedupers, which are awaited concurrently.
    "report": 2 * EVENT_LIMITS.answer_seconds,
    "show": 0.0,
    # A look-up of the token, then the answer.
    "end token": 2 * LIMITS.answer_seconds,
    # A command: it repeats its transaction, with longer and longer pauses.
    "import": ATTEMPTS * TRANSACTION_SECONDS + sum(range(ATTEMPTS)) * PAUSE_SECONDS,
}
"""Time limits of intents in seconds, where they differ from that of actors."""


def every_intent_is_answered_in_time(case: Case) -> Iterator[str]:
    for kind in sorted(case.world.history.intents):
        longest = LONGEST.get(kind, LIMITS.answer_seconds) + EPSILON
        for operation in case.of(kind):
            if not operation.ended or operation.end - operation.start > longest:
                yield f"{kind} of {operation.node} took {operation.end - operation.start:.3f} s"


NETWORK_SECONDS = 3.0
"""The longest network time of a request and its answer: overtaken on the way, then lost."""
HANDLER_SECONDS = 1.5
"""How long a handler of a metered request may work by itself."""
ASKS: Mapping[str, int] = {
    **dict.fromkeys(("appoint", "complete", "edit", "issue", "look", "mint", "resolve", "revoke"), 1),
    **dict.fromkeys(("exchange", "refresh", "rotate", "start", "tier"), 1),
    # A look-up, a charge, and the refund. A request that finds its tenant merged repeats the look-up and the charge.
    "read": 5,
}
"""How many actor calls a request makes, one after another. Requests not listed make two: access, then the action."""


def every_request_is_answered_in_time(case: Case) -> Iterator[str]:
    for operation in case.world.history.requests:
        asks = LONGEST.get(operation.kind, ASKS.get(operation.kind, 2) * LIMITS.answer_seconds)
        longest = asks + NETWORK_SECONDS + (HANDLER_SECONDS if operation.kind == "read" else 0.0)
        if not operation.ended or operation.end - operation.start > longest:
            yield f"{operation.who} waited {operation.end - operation.start:.3f} s for {operation.kind}"


def everybody_is_served_once_the_faults_are_over(case: Case) -> Iterator[str]:
    since = case.world.heal_at + HEALED_SECONDS
    waiting = {client.name for client in case.world.clients}
    for operation in case.world.history.requests:
        if operation.start < since:
            continue
        if isinstance(operation.result, Unknown | Nothing) and operation.result not in (
            Unknown("5xx"),
            Nothing("Overloaded"),
        ):
            yield f"{operation.who} was not served at {operation.start:.3f}: {operation.result}"
        if operation.kind == "mint" and isinstance(operation.result, Minted):
            waiting.discard(operation.who)
    if waiting:
        yield f"never served again: {sorted(waiting)}"


def actors_fail_only_by_simulated_bugs(case: Case) -> Iterator[str]:
    counts, bugs = case.world.counts, case.world.faults.hits["crash"]
    failures = counts.get("actor restarts", 0) + counts.get("requests that met a bug", 0)
    if failures + counts.get("crashes of parts that were not reported", 0) != bugs:
        yield f"actors and requests failed {failures} times, of which {bugs} were simulated"
