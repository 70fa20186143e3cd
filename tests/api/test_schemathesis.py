"""Generated requests against a real server: every response must match the document.

`CATALOG_TEST_EXAMPLES` sets the number per operation and the length of walks (`make fuzz`). The document's own examples,
and some 1,500 that cover each of its keywords, always run.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import Flaky
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.generation.stateful.state_machine import APIStateMachine
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.specs.openapi import checks

from service.api.operations import OPERATIONS
from service.api.policy import Access
from tests.api.fuzzing import PUBLIC, SECONDS, Target, check_code, name_of, running_target, schema
from tests.slow import SLOW

EXAMPLES = int(os.environ.get("CATALOG_TEST_EXAMPLES", "12" if SLOW else "6"))
ROUNDS, STEPS = max(4 if SLOW else 2, EXAMPLES // 4), 20
CALLERS = ("keyless", "anonymous", "scoped", "sponsor")

NAMES = [operation.name for operation in OPERATIONS]
NAMES_WITH_KEYS = [operation.name for operation in OPERATIONS if operation.tag not in PUBLIC]

LONG_TO_COVER = ["saveBillingDetails"]
"""Its address has eight lines by a pattern, of which finding the shortest and the longest takes a minute."""

thorough = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
brief = settings(thorough, max_examples=max(2, EXAMPLES // 8), phases=[Phase.generate])
walked = settings(thorough, max_examples=4, stateful_step_count=STEPS, phases=[Phase.generate])


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with running_target() as running:
        yield running


@pytest.mark.parametrize("name", NAMES)
def test_answers_to_who_may_do_most_are_as_the_document_says(name: str, target: Target) -> None:
    """An administrator with a full key, or an anonymous caller if no key is needed."""
    generated(_by_who_may_do_most, thorough)[name](target=target)


def _by_who_may_do_most(case: schemathesis.Case[Any], target: Target) -> None:
    target.thoroughly.add(name_of(case))
    target.call(case, "keyless" if PUBLIC & set(case.operation.tags or ()) else "administrator")


@pytest.mark.parametrize("name", NAMES_WITH_KEYS)
def test_answers_to_those_who_may_do_less_are_as_the_document_says(name: str, target: Target) -> None:
    generated(_by_those_who_may_do_less, brief)[name](target=target)


def _by_those_who_may_do_less(case: schemathesis.Case[Any], target: Target) -> None:
    for caller in CALLERS:
        target.call(case, caller)


@cache
def generated(test: Callable[..., None], given: settings) -> dict[str, Callable[..., None]]:
    """Return the test with generated cases for each operation.

    The decorator of schemathesis generates them when tests are collected, which each parallel process does.
    """
    tests = {}
    every, drawn = schema(), settings(given, phases=[Phase.generate])
    parts = (every.exclude(operation_id=LONG_TO_COVER), given), (every.include(operation_id=LONG_TO_COVER), drawn)
    for result in chain(
        *(get_all_tests(schema=part, test_func=test, settings=each, given_kwargs=None) for part, each in parts)
    ):
        assert isinstance(result, Ok), result
        operation, run = result.ok()
        tests[operation.definition.raw["operationId"]] = run
    return tests


IN_SESSIONS = sorted(operation.name for operation in OPERATIONS if operation.access is Access.SESSION)
"""Nobody here has a browser."""

NEVER = {
    "completeClaim",  # the code is in a mail
    "startSignIn",  # needs a page of this service
    "completeSignIn",
    "getPendingSignIn",  # needs a completed sign-in
    "startPasskeySignIn",
    "finishPasskeySignIn",
    "cancelPasskeySignIn",
    "pollDevice",  # nobody approves
    "registerClient",  # redirect URIs have rules that no schema says
    "issueToken",
    "stripeWebhook",  # in test mode there is nothing
    *IN_SESSIONS,
}
BY_CHANCE = {"submitCampaign", "reviewCampaign", "pauseCampaign", "resumeCampaign", "refundBooking"} | {
    "reviewSubmission",
    "requestRefund",
    "declineRefund",
    "editScopedKey",
    "rotateScopedKey",
    "getAccount",
    "suspendAccount",
    "unsuspendAccount",
    "refundAccount",
    "startBooking",
    "submitEntry",
}
"""These need other operations first, the account of somebody else, or more luck than a dozen draws have: walks along links
book, and the examples of the document have both."""


def test_requests_have_succeeded_too(target: Target) -> None:
    """Every operation must have succeeded at least once."""
    never = {name for name in target.thoroughly if not target.answers[name][200]} - NEVER - BY_CHANCE
    assert not never, {name: target.answers[name] for name in never}


def test_walks_along_the_links_are_as_the_document_says() -> None:
    """Follows links between operations: create, edit, pay, refund, delete."""
    with running_target() as fresh:
        _walk(Walks(fresh))


def _walk(walks: "Walks") -> None:
    machine = walking(walks)
    # What Hypothesis draws depends on the constants of all modules, so some draws take long to arrive.
    for number in range(40 * ROUNDS):
        if number >= ROUNDS and walks.arrived:
            break
        # The server has state, so two walks with the same start can differ. Then Hypothesis ends the round; the walks
        # so far are kept in `walks`.
        with suppress(Flaky):
            seed(number)(machine).run(settings=walked)
        if walks.wrong:
            raise walks.wrong[0]
    assert walks.arrived, (walks.paid, DESTINATIONS - walks.succeeded)


APART = ["getStoredUseCase", "putUseCase", "retireUseCase", "getStoredBot", "putBot", "retireBot", "revokeKey"]
"""These lead to no booking. The tests of single operations send them."""

DESTINATIONS = {"createCampaign", "editCampaign", "withdrawCampaign", "startBooking", "openCheckout", "cancelBooking"}


@dataclass(slots=True)
class Walks:
    """The state of the walks. Two of three checkouts are paid."""

    target: Target
    answers: dict[str, Counter[int]] = field(default_factory=dict)
    led: int = 0
    paid: int = 0
    wrong: list[Exception] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    """The paths of what a walk has deleted, on this branch or another."""

    @property
    def succeeded(self) -> set[str]:
        return {name for name, answers in self.answers.items() if answers[200]}

    @property
    def arrived(self) -> bool:
        """Whether walks came as far as to pay, and everywhere on the way."""
        return self.paid > 0 and self.succeeded >= DESTINATIONS

    def note(self, name: str, response: Response) -> None:
        self.answers.setdefault(name, Counter())[response.status_code] += 1
        self.target.note(name, response.status_code, "administrator")
        if name == "openCheckout" and response.status_code == 200:
            self._check_out(response.json()["checkoutUrl"])

    def _check_out(self, url: str) -> None:
        self.led += 1
        if self.led % 3:
            answer = self.target.session.post(url, data={"do": "pay"}, timeout=SECONDS)
            assert answer.status_code == 200, answer.text
            self.paid += 1


def walking(walks: Walks) -> type[APIStateMachine]:
    """The state machine that schemathesis builds from the links, run as an administrator."""
    target = walks.target

    class Walk(schema().exclude(tag=sorted(PUBLIC)).exclude(operation_id=[*IN_SESSIONS, *APART]).as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: schemathesis.Case[Any]) -> dict[str, Any]:
            target.put_real_names(case)
            return target.arguments("administrator")

        def after_call(self, response: Response, case: schemathesis.Case[Any]) -> None:
            super().after_call(response, case)
            check_code(case, response)
            walks.note(name_of(case), response)
            if response.request.method == "DELETE" and response.status_code == 200:
                walks.deleted.add(urlsplit(response.request.url or "").path)

        def validate_response(self, response: Response, case: schemathesis.Case[Any], **arguments: Any) -> None:
            excluded = target.excluded(name_of(case))
            path = urlsplit(response.request.url or "").path
            if any(path.startswith(gone) for gone in walks.deleted):
                excluded.append(checks.ensure_resource_availability)
            try:
                case.validate_response(
                    response, excluded_checks=excluded, transport_kwargs=arguments, recorder=self.recorder
                )
            except Exception as error:
                walks.wrong.append(error)
                raise

    return Walk
