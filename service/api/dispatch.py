"""Handles one request: authenticate, limit, authorize, charge, validate, then call the handler.

The fast path, Quart and pages all call operations through `dispatch`.
"""

import logging
from http import HTTPStatus

from actors.quota.messages import Metered, Moved
from actors.shared.limits import Allowance
from actors.values import CallFailed, Code, Refused, Tenant
from service.api.authentication import Caller, authenticate, no_session, signed_in
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
from service.api.messages import Answer, Headers, Request, note
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.api.rate_limits import rate_limit_headers
from service.api.refusals import failure, refusal, rendered
from service.api.spreadsheets import for_people
from service.api.validation import FORM, form_as_json, parse_body, parse_query, read_idempotency_key, undecodable

log = logging.getLogger(__name__)

NOT_MODIFIED, TOO_MANY_REQUESTS = HTTPStatus.NOT_MODIFIED.value, HTTPStatus.TOO_MANY_REQUESTS.value
BAD_REQUEST = HTTPStatus.BAD_REQUEST.value


async def dispatch(services: Services, operation: Operation, request: Request, viewer: Caller | None = None) -> Answer:
    """Handle one request within `http.answer_seconds`. Raises nothing but cancellation.

    `viewer` is the caller of a page. The page has authenticated it, and has its own limit per address, deadline and log line.
    """
    if viewer is None:
        start_deadline(answer_seconds(services.config, operation))
    elif extra := extra_seconds(services.config, operation):
        extend_deadline(extra)
    pipeline = RequestPipeline(services, operation, request, viewer)
    outcome: Answer | Refused
    try:
        outcome = await (pipeline.outcome() if operation.hot else pipeline.outcome_within_deadline())
    except Exception as error:
        outcome = failure(operation.name, error)
    answer_of = refusal if viewer is None else rendered
    answer = answer_of(outcome, operation.family) if isinstance(outcome, Refused) else outcome
    if answer.status >= 500 or answer.status == TOO_MANY_REQUESTS:
        await pipeline.refund()
    if answer.status >= BAD_REQUEST:
        pipeline.not_changed()
    answer.headers += pipeline.headers()
    return answer


class RequestPipeline:
    """The steps of one request."""

    def __init__(self, services: Services, operation: Operation, request: Request, viewer: Caller | None) -> None:
        self._services = services
        self._operation = operation
        self._request = request
        self._viewer = viewer
        # The limit per minute of a request that is charged once its outcome is known.
        self._uncharged: Allowance | None = None
        # The account whose change was counted.
        self._changing: str | None = None
        # The tenant after the charge, and the key that was charged.
        self._charged: tuple[Tenant, str] | None = None
        # The key's limit per minute when it was last checked, and its counters if it was charged.
        self._limits: tuple[Allowance, Tenant | None] | None = None

    def headers(self) -> Headers:
        """Headers of every response, regardless of its status."""
        headers: Headers = [*CORS] if self._operation.cors else []
        if self._limits is not None:
            headers += rate_limit_headers(*self._limits, self._services.quota.caps)
        return headers

    async def outcome(self) -> Answer | Refused:
        caller = await self._authenticate()
        if isinstance(caller, Refused):
            return caller
        refused = await self._admit(caller)
        if refused is not None:
            return refused
        if caller.resolved is not None:
            self._services.key_uses.note(caller.resolved.key.id)
        if self._uncharged is not None:
            return await self._outcome_unless_known(caller, self._uncharged)
        return await self._handle(caller)

    async def _handle(self, caller: Caller) -> Answer | Refused:
        call = self._validate(caller)
        if isinstance(call, Refused):
            return call
        if self._operation.repeatable and (refused := self._count_change(caller.owner)):
            return refused
        answer = await self._operation.handler(self._services, call)
        if self._operation.spreadsheet and caller.signed_in is not None and isinstance(answer, Answer):
            return for_people(answer)
        return answer

    def _count_change(self, tenant_id: str) -> Refused | None:
        refused = too_many_changes(self._services.budgets.change(tenant_id))
        if refused is None:
            self._changing = tenant_id
        return refused

    async def _outcome_unless_known(self, caller: Caller, allowance: Allowance) -> Answer | Refused:
        """The outcome of a read by a client that may have the response: charged like any other, unless it is a 304. It is
        found first, which costs no more, because these reads change nothing."""
        outcome = await self._handle(caller)
        if isinstance(outcome, Refused):
            return outcome if outcome.code is Code.RATE_LIMITED else await self._charge(caller, allowance) or outcome
        return outcome if outcome.status == NOT_MODIFIED else await self._charge(caller, allowance) or outcome

    async def outcome_within_deadline(self) -> Answer | Refused:
        """The outcome, or `trio.TooSlowError` at the deadline.

        Hot operations skip this scope, which would cost as much as their handlers. They wait only for actors and
        searches, which observe the deadline themselves.
        """
        with within_deadline():
            return await self.outcome()

    def not_changed(self) -> None:
        """Give back a change that was refused."""
        if self._changing is not None:
            self._services.budgets.not_changed(self._changing)

    async def refund(self) -> None:
        """Refund the charge, if any. Neither a 5xx nor a 429 from the handler counts (ADR 0003)."""
        if self._charged is None:
            return
        (tenant, key_id), self._charged = self._charged, None
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

    async def _authenticate(self) -> Caller | Refused:
        services, operation, request = self._services, self._operation, self._request
        if operation.same_origin and not from_our_page(request, services.base_url):
            return _cross_origin()
        if self._viewer is not None:
            return self._session_caller(self._viewer)
        authorization = request.headers.get("authorization")
        if authorization is None and operation.access in (Access.OPTIONAL, Access.PUBLIC):
            return Caller(request.client)
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
                return self._session_caller(person)
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

    def _session_caller(self, caller: Caller | None) -> Caller | Refused:
        """The caller of a browser session, if the operation needs one. Changes must come from a page of this service."""
        operation = self._operation
        if operation.access in (Access.PUBLIC, Access.OPTIONAL):
            return Caller(self._request.client)
        if caller is None or caller.signed_in is None:
            return no_session()
        note("caller", caller.signed_in.session.id)
        if operation.changes and not from_our_page(self._request, self._services.base_url):
            return _cross_origin()
        return caller

    async def _admit(self, caller: Caller) -> Refused | None:
        """Check the limit per address or key, then authorization, then charge the quota, unless the client may have the
        response. None admits the request."""
        operation, services = self._operation, self._services
        if operation.budget is not None:
            refused = too_fast(services.budgets.spend(operation.budget, self._request.client))
            if refused is not None:
                return refused
        if operation.access is Access.PUBLIC:
            return None
        if self._viewer is not None and not (operation.changes and caller.signed_in is not None):
            # The limit of pages per address covers what they show.
            return authorize(operation, caller)
        if caller.signed_in is not None:
            # Browser sessions are limited per minute, with the forms of their pages, and do not use quota.
            allowance = services.quota.pace(f"{caller.tenant_id} session", caller.tier)
            self._limits = allowance, None
            return too_fast(allowance) or authorize(operation, caller)
        if caller.resolved is None:
            # A budget of the operation replaces the limit of keyless readers.
            return (
                None if operation.budget else too_fast(services.budgets.read(self._request.client, operation.keyless))
            )
        siblings = caller.resolved.siblings
        tenant_id = min(caller.tenant_id, *siblings) if siblings else caller.tenant_id
        subject = tenant_id if operation.metered else f"{tenant_id} {operation.name}"
        allowance = services.quota.pace(subject, caller.tier)
        self._limits = allowance, None
        refused = too_fast(allowance) or authorize(operation, caller)
        if refused is not None or not operation.metered:
            return refused
        if operation.cacheable and "if-none-match" in self._request.headers:
            self._uncharged = allowance
            return None
        return await self._charge(caller, allowance)

    async def _charge(self, caller: Caller, allowance: Allowance) -> Refused | None:
        """Charge the caller's tenant. If a claim has just moved the key, look it up again and charge the new tenant."""
        services, usecase = self._services, self._operation.usecase
        assert caller.resolved is not None, "only keys are charged"
        key = caller.resolved.key
        siblings = caller.resolved.siblings
        answer = await services.quota.charge(caller.tenant_id, usecase=usecase, key_id=key.id, siblings=siblings)
        if isinstance(answer, Moved):
            services.key_cache.forget([key.hash])
            again = await self._authenticate()
            if isinstance(again, Refused):
                return again
            answer = await services.quota.charge(again.tenant_id, usecase=usecase, key_id=key.id)
        match answer:
            case Metered(tenant):
                self._charged = tenant, key.id
                self._limits = allowance, tenant
                return None
            case Moved():
                return unavailable("This key is being claimed. Try again in a moment.")
            case Refused():
                return answer

    def _validate(self, caller: Caller) -> Call | Refused:
        operation, request = self._operation, self._request
        call = Call(request, caller)
        if operation.query is not None:
            query = parse_query(operation.query, request.query)
            if isinstance(query, Refused):
                return query
            call.query = query
        if operation.reads:
            refused = undecodable(request)
            if refused is not None:
                return refused
        if operation.body is not None:
            text = self._json_body()
            if isinstance(text, Refused):
                return text
            body = parse_body(operation.body, text, optional=operation.body_optional)
            if isinstance(body, Refused):
                return body
            call.body = body
        if operation.keyed:
            key = read_idempotency_key(request.headers)
            if isinstance(key, Refused):
                return key
            call.idempotency_key = key
        return call

    def _json_body(self) -> bytes | Refused:
        """The body as JSON, converted from a form if the operation accepts forms."""
        request = self._request
        if not self._operation.form:
            return request.body
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        return form_as_json(request.body) if content_type == FORM else request.body


def _cross_origin() -> Refused:
    return Refused(Code.FORBIDDEN, "This request must come from a page of this service.")
