"""Handles one request: authenticate, limit, authorize, charge, validate, then call the handler.

The fast path, Quart and pages all call operations through `Pipeline`.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from pydantic import BaseModel

from actors.quota.messages import Metered, Moved
from actors.shared.limits import Allowance
from actors.values import CallFailed, Code, Refused, Tenant
from service.api.authentication import Caller, anonymous, authenticate, no_session, signed_in
from service.api.authorization import authorize
from service.api.context import Services
from service.api.cookies import from_our_page
from service.api.cors import CORS
from service.api.deadlines import (
    answer_seconds,
    best_effort,
    extend_deadline,
    extra_seconds,
    start_deadline,
    within_deadline,
)
from service.api.errors import too_fast, too_many_changes, unavailable
from service.api.messages import Answer, Request, note
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.api.rate_limits import rate_limit_headers
from service.api.refusals import failure, refusal, rendered
from service.api.spreadsheets import for_people
from service.api.validation import FORM, form_as_json, parse_body, parse_query, read_idempotency_key, undecodable

log = logging.getLogger(__name__)

NOT_MODIFIED, TOO_MANY_REQUESTS = HTTPStatus.NOT_MODIFIED.value, HTTPStatus.TOO_MANY_REQUESTS.value
BAD_REQUEST, INTERNAL_ERROR = HTTPStatus.BAD_REQUEST.value, HTTPStatus.INTERNAL_SERVER_ERROR.value


async def dispatch(services: Services, operation: Operation, request: Request, viewer: Caller | None = None) -> Answer:
    """Handle one request, as `Pipeline.answer` does."""
    return await Pipeline(services, operation).answer(request, viewer)


@dataclass(slots=True)
class Course:
    """The state of one request that its steps share."""

    request: Request
    viewer: Caller | None
    uncharged: Allowance | None = None
    """The limit per minute of a request that is charged once its outcome is known."""
    changing: str | None = None
    """The account whose change was counted."""
    charged: tuple[Tenant, str] | None = None
    """The tenant after the charge, and the key that was charged."""
    limits: tuple[Allowance, Tenant | None] | None = None
    """The key's limit per minute when it was last checked, and its counters if it was charged."""


class Pipeline:
    """The steps of an operation of a node, put together from the operation's row."""

    def __init__(self, services: Services, operation: Operation) -> None:
        self._services = services
        self._operation = operation
        self._seconds = answer_seconds(services.config, operation)
        self._extra_seconds = extra_seconds(services.config, operation)
        self._headers = CORS if operation.cors else ()
        # Whether requests without a key need no further step to find their caller.
        self._open = operation.access in (Access.OPTIONAL, Access.PUBLIC) and not operation.same_origin
        # How such a request counts, by its address.
        self._budget = operation.budget or (None if operation.access is Access.PUBLIC else operation.keyless)
        self._outcome_in_time = self._outcome if operation.hot else self._outcome_within_deadline
        self._steps = tuple(_steps_of(operation))

    async def answer(self, request: Request, viewer: Caller | None = None) -> Answer:
        """Handle one request within `http.answer_seconds`. Raises nothing but cancellation.

        `viewer` is the caller of a page. The page has authenticated it, and has its own limit per address, deadline and log
        line.
        """
        if viewer is None:
            start_deadline(self._seconds)
        elif self._extra_seconds:
            extend_deadline(self._extra_seconds)
        course = Course(request, viewer)
        outcome: Answer | Refused
        try:
            outcome = await self._outcome_in_time(course)
        except Exception as error:
            outcome = failure(self._operation.name, error)
        if isinstance(outcome, Refused):
            answer_of = refusal if viewer is None else rendered
            outcome = answer_of(outcome, self._operation.family)
        if outcome.status >= BAD_REQUEST:
            if outcome.status >= INTERNAL_ERROR or outcome.status == TOO_MANY_REQUESTS:
                await self._refund(course)
            self._give_back_change(course)
        outcome.headers += self._headers
        if course.limits is not None:
            outcome.headers += rate_limit_headers(*course.limits, self._services.quota.caps)
        return outcome

    async def _outcome(self, course: Course) -> Answer | Refused:
        request, services = course.request, self._services
        if self._open and course.viewer is None and "authorization" not in request.headers:
            caller = anonymous(request.client)
            refused = None if self._budget is None else too_fast(services.budgets.spend(self._budget, request.client))
        else:
            found = await self._authenticate(course)
            if isinstance(found, Refused):
                return found
            caller = found
            refused = await self._admit(course, caller)
        if refused is not None:
            return refused
        if caller.resolved is not None:
            services.key_uses.note(caller.resolved.key.id)
        if course.uncharged is not None:
            return await self._outcome_unless_known(course, caller, course.uncharged)
        return await self._handle(course, caller)

    async def _handle(self, course: Course, caller: Caller) -> Answer | Refused:
        operation, call = self._operation, Call(course.request, caller)
        for step in self._steps:
            refused = step(call)
            if refused is not None:
                return refused
        if operation.repeatable and (refused := self._count_change(course, caller.owner)):
            return refused
        answer = await operation.handler(self._services, call)
        if operation.spreadsheet and caller.signed_in is not None and isinstance(answer, Answer):
            return for_people(answer)
        return answer

    def _count_change(self, course: Course, tenant_id: str) -> Refused | None:
        refused = too_many_changes(self._services.budgets.change(tenant_id))
        if refused is None:
            course.changing = tenant_id
        return refused

    async def _outcome_unless_known(self, course: Course, caller: Caller, allowance: Allowance) -> Answer | Refused:
        """The outcome of a read by a client that may have the response: charged like any other, unless it is a 304. It is
        found first, which costs no more, because these reads change nothing."""
        outcome = await self._handle(course, caller)
        if isinstance(outcome, Refused) and outcome.code is Code.RATE_LIMITED:
            return outcome
        if isinstance(outcome, Answer) and outcome.status == NOT_MODIFIED:
            return outcome
        return await self._charge(course, caller, allowance) or outcome

    async def _outcome_within_deadline(self, course: Course) -> Answer | Refused:
        """The outcome, or `trio.TooSlowError` at the deadline.

        Hot operations skip this scope, which would cost as much as their handlers. They wait only for actors and
        searches, which observe the deadline themselves.
        """
        with within_deadline():
            return await self._outcome(course)

    def _give_back_change(self, course: Course) -> None:
        """Give back a change that was refused."""
        if course.changing is not None:
            self._services.budgets.not_changed(course.changing)

    async def _refund(self, course: Course) -> None:
        """Refund the charge, if any. Neither a 5xx nor a 429 from the handler counts (ADR 0003)."""
        if course.charged is None:
            return
        (tenant, key_id), course.charged = course.charged, None
        with best_effort():
            try:
                await self._services.quota.refund(tenant, usecase=self._operation.usecase, key_id=key_id)
            except CallFailed as error:
                log.warning(
                    "%s: the usage of %s is not reduced yet by a request that failed; no money is concerned: %s",
                    self._operation.name,
                    tenant.id,
                    error,
                )

    async def _authenticate(self, course: Course) -> Caller | Refused:
        services, operation, request = self._services, self._operation, course.request
        if operation.same_origin and not from_our_page(request, services.base_url):
            return _cross_origin()
        if course.viewer is not None:
            return self._session_caller(request, course.viewer)
        authorization = request.headers.get("authorization")
        if authorization is None and operation.access in (Access.OPTIONAL, Access.PUBLIC):
            return anonymous(request.client)
        if operation.access is Access.SESSION or (operation.access is Access.REQUIRED and authorization is None):
            # Other operations ignore the cookie.
            person = await signed_in(
                request,
                services.base_url,
                services.session_reader,
                services.budgets,
                services.clock,
                require_passkey=services.config.admin.require_passkey,
            )
            if isinstance(person, Refused):
                return person
            if person is not None and person.signed_in is not None:
                services.sessions.touch(person.signed_in.session)
            if person is not None or operation.access is Access.SESSION:
                return self._session_caller(request, person)
        caller = await authenticate(
            authorization,
            operation.access,
            request.client,
            services.key_cache,
            services.budgets,
            services.clock,
            fresh=operation.admin,
            require_passkey=services.config.admin.require_passkey,
        )
        if isinstance(caller, Caller) and caller.resolved is not None:
            note("caller", caller.resolved.key.prefix)
        return caller

    def _session_caller(self, request: Request, caller: Caller | None) -> Caller | Refused:
        """The caller of a browser session, if the operation needs one. Changes must come from a page of this service."""
        operation = self._operation
        if operation.access in (Access.PUBLIC, Access.OPTIONAL):
            return anonymous(request.client)
        if caller is None or caller.signed_in is None:
            return no_session()
        note("caller", caller.signed_in.session.id)
        if operation.changes and not from_our_page(request, self._services.base_url):
            return _cross_origin()
        return caller

    async def _admit(self, course: Course, caller: Caller) -> Refused | None:
        """Check the limit per address or key, then authorization, then charge the quota, unless the client may have the
        response. None admits the request."""
        operation, services = self._operation, self._services
        if operation.budget is not None:
            refused = too_fast(services.budgets.spend(operation.budget, course.request.client))
            if refused is not None:
                return refused
        if operation.access is Access.PUBLIC:
            return None
        if course.viewer is not None and not (operation.changes and caller.signed_in is not None):
            # The limit of pages per address covers what they show.
            return authorize(operation, caller)
        if caller.signed_in is not None:
            # Browser sessions are limited per minute, with the forms of their pages, and do not use quota.
            allowance = services.quota.pace(f"{caller.tenant_id} session", caller.tier)
            course.limits = allowance, None
            return too_fast(allowance) or authorize(operation, caller)
        if caller.resolved is None:
            # A budget of the operation replaces the limit of keyless readers.
            return (
                None if operation.budget else too_fast(services.budgets.spend(operation.keyless, course.request.client))
            )
        siblings = caller.resolved.siblings
        tenant_id = min(caller.tenant_id, *siblings) if siblings else caller.tenant_id
        subject = tenant_id if operation.metered else f"{tenant_id} {operation.name}"
        allowance = services.quota.pace(subject, caller.tier)
        course.limits = allowance, None
        refused = too_fast(allowance) or authorize(operation, caller)
        if refused is not None or not operation.metered:
            return refused
        if operation.cacheable and "if-none-match" in course.request.headers:
            course.uncharged = allowance
            return None
        return await self._charge(course, caller, allowance)

    async def _charge(self, course: Course, caller: Caller, allowance: Allowance) -> Refused | None:
        """Charge the caller's tenant. If a claim has just moved the key, look it up again and charge the new tenant."""
        services, usecase = self._services, self._operation.usecase
        assert caller.resolved is not None, "only keys are charged"
        key = caller.resolved.key
        siblings = caller.resolved.siblings
        answer = await services.quota.charge(caller.tenant_id, usecase=usecase, key_id=key.id, siblings=siblings)
        if isinstance(answer, Moved):
            services.key_cache.forget([key.hash])
            again = await self._authenticate(course)
            if isinstance(again, Refused):
                return again
            answer = await services.quota.charge(again.tenant_id, usecase=usecase, key_id=key.id)
        match answer:
            case Metered(tenant):
                course.charged = tenant, key.id
                course.limits = allowance, tenant
                return None
            case Moved():
                return unavailable("This key is being claimed. Try again in a moment.")
            case Refused():
                return answer


Step = Callable[[Call], Refused | None]
"""Reads a part of the request into the call, or refuses it."""


def _steps_of(operation: Operation) -> Iterator[Step]:
    """The steps of validation that an operation needs."""
    if operation.query is not None:
        yield partial(_read_query, operation.query)
    if operation.reads:
        yield _refuse_coding
    if operation.body is not None:
        yield partial(_read_body, operation)
    if operation.keyed:
        yield _read_key


def _read_query(model: type[BaseModel], call: Call) -> Refused | None:
    call.query = parse_query(model, call.request.query)
    return call.query if isinstance(call.query, Refused) else None


def _refuse_coding(call: Call) -> Refused | None:
    return undecodable(call.request) if "content-encoding" in call.request.headers else None


def _read_body(operation: Operation, call: Call) -> Refused | None:
    """Read the body as JSON, converted from a form if the operation accepts forms."""
    assert operation.body is not None
    request = call.request
    text: bytes | Refused = request.body
    if operation.form:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        text = form_as_json(request.body) if content_type == FORM else request.body
    if isinstance(text, Refused):
        return text
    call.body = parse_body(operation.body, text, optional=operation.body_optional)
    return call.body if isinstance(call.body, Refused) else None


def _read_key(call: Call) -> Refused | None:
    key = read_idempotency_key(call.request.headers)
    if isinstance(key, Refused):
        return key
    call.idempotency_key = key
    return None


def _cross_origin() -> Refused:
    return Refused(Code.FORBIDDEN, "This request must come from a page of this service.")
