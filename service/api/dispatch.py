"""From a request to an answer: who calls, may they, does it count, is it valid, and then the handler.

The one way into every operation, whoever serves it. Knows no framework.
"""

import json
import logging
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import trio
from pydantic import BaseModel, ValidationError

from actors.limits import Allowance
from actors.quota.messages import Metered, Moved
from actors.values import ActorFailed, CallFailed, Code, Refused, Tenant, Tier
from service.api.authentication import Caller, authenticate, no_session, signed_in
from service.api.authorization import authorize
from service.api.context import Services
from service.api.cookies import from_our_page
from service.api.deadlines import answer_seconds, best_effort, extend_deadline, pays, start_deadline, within_deadline
from service.api.errors import Family, body_of, headers_of, internal_error, status_of, too_fast, unavailable
from service.api.messages import Answer, Headers, Request, note
from service.api.operation import Access, Call, Operation

M = TypeVar("M", bound=BaseModel)

log = logging.getLogger(__name__)


async def dispatch(services: Services, operation: Operation, request: Request, visitor: Caller | None = None) -> Answer:
    """Answer one request of one operation, within `http.answer_seconds`. Raises nothing but cancellation.

    `visitor` is who looks at the page that asks, which knows him already, has its own limit for each address and its own
    time to answer, and is noted by itself.
    """
    if visitor is None:
        note(operation=operation.name)
        start_deadline(answer_seconds(services.config, operation))
    elif pays(services.config, operation):
        extend_deadline(services.config.billing.timeout_seconds)
    visit = RequestPipeline(services, operation, request, visitor)
    outcome: Answer | Refused
    try:
        outcome = await (visit.outcome() if operation.hot else visit.outcome_in_time())
    except Exception as error:
        outcome = failure(operation.name, error)
    refused = refusal if visitor is None else _refusal
    answer = refused(outcome, operation.family) if isinstance(outcome, Refused) else outcome
    if answer.status >= 500 or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        await visit.give_back()
    answer.headers += visit.headers()
    return answer


class RequestPipeline:
    """One request on its way through the steps."""

    def __init__(self, services: Services, operation: Operation, request: Request, visitor: Caller | None) -> None:
        self._services = services
        self._operation = operation
        self._request = request
        self._visitor = visitor
        self._charged: Tenant | None = None
        # What the limits of a key were when it was last looked at, and its counters where it was charged.
        self._limits: tuple[Allowance, Tenant | None] | None = None

    def headers(self) -> Headers:
        """What goes out with whatever the answer is."""
        headers: Headers = [*CORS] if self._operation.cors else []
        if self._limits is not None:
            headers += self._rate_limits(*self._limits)
        return headers

    async def outcome(self) -> Answer | Refused:
        caller = await self._caller()
        if isinstance(caller, Refused):
            return caller
        refused = await self._let_through(caller)
        if refused is not None:
            return refused
        if caller.resolved is not None:
            self._services.key_uses.note(caller.resolved.key.id)
        call = self._validated(caller)
        if isinstance(call, Refused):
            return call
        return await self._operation.handler(self._services, call)

    async def outcome_in_time(self) -> Answer | Refused:
        """The outcome, or `trio.TooSlowError` when it is due. Hot operations do without that bound, which would cost them as
        much as their handlers do: all that they wait for are actors and searches, and those know when it is due."""
        with within_deadline():
            return await self.outcome()

    async def give_back(self) -> None:
        """A 5xx does not count, and what a handler found to be too much was not let through."""
        if self._charged is None:
            return
        tenant, self._charged = self._charged, None
        with best_effort():
            try:
                await self._services.quota.refund(tenant, usecase=self._operation.usecase)
            except CallFailed as error:
                log.warning("a charge of %s was not given back yet: %s", tenant.id, type(error).__name__)

    async def _caller(self) -> Caller | Refused:
        services, operation, request = self._services, self._operation, self._request
        if operation.same_origin and not from_our_page(request, services.base_url):
            return _from_elsewhere()
        if self._visitor is not None:
            return self._person(self._visitor)
        authorization = request.headers.get("authorization")
        if operation.access is Access.SESSION or (operation.access is Access.REQUIRED and authorization is None):
            # A cookie counts where somebody has to be known; elsewhere it changes nothing.
            person = await signed_in(request, services.base_url, services.session_reader, services.clock)
            if person is not None and person.signed_in is not None:
                services.sessions.touch(person.signed_in.session)
            if person is not None or operation.access is Access.SESSION:
                return self._person(person)
        caller = await authenticate(
            authorization,
            operation.access,
            request.client,
            services.directory,
            services.clock,
            fresh=operation.admin,
        )
        if isinstance(caller, Caller) and caller.resolved is not None:
            note(caller=caller.resolved.key.prefix)
        return caller

    def _person(self, caller: Caller | None) -> Caller | Refused:
        """Who is signed in, where the operation needs that; what he changes has to come from a page of this service."""
        operation = self._operation
        if operation.access in (Access.PUBLIC, Access.OPTIONAL):
            return Caller(self._request.client)
        if caller is None or caller.signed_in is None:
            return no_session()
        note(caller=caller.signed_in.session.id)
        if operation.changes and not from_our_page(self._request, self._services.base_url):
            return _from_elsewhere()
        return caller

    async def _let_through(self, caller: Caller) -> Refused | None:
        """Limits by address or key, what the caller may do, and the charge, in this order. None means: go on."""
        operation, services = self._operation, self._services
        if operation.budget is not None:
            refused = too_fast(services.budgets.spend(operation.budget, self._request.client))
            if refused is not None:
                return refused
        if operation.access is Access.PUBLIC:
            return None
        if self._visitor is not None:
            return authorize(operation, caller)
        if caller.signed_in is not None:
            # What a person does in a browser is paced, and does not count.
            allowance = services.quota.pace(f"{caller.tenant_id} session", caller.tier)
            self._limits = allowance, None
            return too_fast(allowance) or authorize(operation, caller)
        if caller.resolved is None:
            # A budget of its own stands in the place of the readers'.
            return None if operation.budget else too_fast(services.budgets.read(self._request.client))
        subject = caller.tenant_id if operation.metered else f"{caller.tenant_id} {operation.name}"
        allowance = services.quota.pace(subject, caller.tier)
        self._limits = allowance, None
        refused = too_fast(allowance) or authorize(operation, caller)
        if refused is not None or not operation.metered:
            return refused
        return await self._charge(caller, allowance)

    async def _charge(self, caller: Caller, allowance: Allowance) -> Refused | None:
        """Charge the caller's tenant; a key that was moved meanwhile is looked up once more."""
        services, usecase = self._services, self._operation.usecase
        answer = await services.quota.charge(caller.tenant_id, usecase=usecase)
        if isinstance(answer, Moved):
            assert caller.resolved is not None
            services.directory.forget([caller.resolved.key.hash])
            again = await self._caller()
            if isinstance(again, Refused):
                return again
            answer = await services.quota.charge(again.tenant_id, usecase=usecase)
        match answer:
            case Metered(tenant):
                self._charged = tenant
                self._limits = allowance, tenant
                return None
            case Moved():
                return unavailable("This key is being claimed. Try again in a moment.")
            case Refused():
                return answer

    def _rate_limits(self, allowance: Allowance, tenant: Tenant | None) -> Headers:
        """RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers) on keyed answers."""
        policies = [f'"minute";q={allowance.limit};w=60']
        limits = [f'"minute";r={allowance.remaining};t={allowance.reset_seconds}']
        if tenant is not None:
            caps = self._services.quota.caps[tenant.tier]
            policies.append(f'"day";q={caps.daily};w=86400')
            limits.append(f'"day";r={max(0, caps.daily - tenant.day_used)}')
            name, most, used = (
                ("lifetime", caps.lifetime, tenant.lifetime_used)
                if tenant.tier is Tier.ANONYMOUS
                else ("month", caps.monthly, tenant.month_used)
            )
            if most is not None:
                policies.append(f'"{name}";q={most}')
                limits.append(f'"{name}";r={max(0, most - used)}')
        return [("ratelimit-policy", ", ".join(policies)), ("ratelimit", ", ".join(limits))]

    def _validated(self, caller: Caller) -> Call | Refused:
        operation, request = self._operation, self._request
        call = Call(request, caller)
        if operation.query is not None:
            query = parse_query(operation.query, request.query)
            if isinstance(query, Refused):
                return query
            call.query = query
        if operation.body is not None:
            text = self._body()
            if text is None:
                return Refused(Code.INVALID_REQUEST, "The body is not a form in which each field stands once.")
            body = parse_body(operation.body, text, optional=operation.body_optional)
            if isinstance(body, Refused):
                return body
            call.body = body
        return call

    def _body(self) -> bytes | None:
        """The body as JSON, also where it came as a form; None where that repeats a field (RFC 6749, 3.2)."""
        request = self._request
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not self._operation.form or kind != FORM:
            return request.body
        fields = read_fields(request.body)
        return json.dumps(dict(fields)).encode() if len(dict(fields)) == len(fields) else None


FORM = "application/x-www-form-urlencoded"


def read_form(body: bytes) -> dict[str, str]:
    """The fields of a form, the last of equal names each; what is no form has none."""
    return dict(read_fields(body))


def read_fields(body: bytes) -> list[tuple[str, str]]:
    """The fields of a form in their order; what is no form has none."""
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        return []


def _from_elsewhere() -> Refused:
    return Refused(Code.FORBIDDEN, "This has to come from a page of this service.")


CORS = (
    ("access-control-allow-origin", "*"),
    ("access-control-expose-headers", "ETag, RateLimit, RateLimit-Policy, Retry-After, X-Event-Dropped, X-Request-Id"),
)
"""What lets a page of any site read an answer."""


def refusal(refused: Refused, family: Family) -> Answer:
    """A refusal as an answer in the family's envelope."""
    note(refusal=str(refused.code))
    return _refusal(refused, family)


def _refusal(refused: Refused, family: Family) -> Answer:
    body = _json(body_of(refused, family))
    return Answer(status_of(refused), body, [*headers_of(refused), ("cache-control", "no-store")])


def refusal_of(operation: Operation, refused: Refused) -> Answer:
    """A refusal before the operation is asked; a page that may call it may read that, too."""
    answer = refusal(refused, operation.family)
    if operation.cors:
        answer.headers += CORS
    return answer


def failure(name: str, error: Exception) -> Refused:
    """What an error of the operation or page `name` is to the client; logged here, unless an actor has logged it."""
    match error:
        case ActorFailed():
            return internal_error()
        case CallFailed() | trio.TooSlowError():
            log.warning("%s is not available: %s", name, str(error) or type(error).__name__)
            return unavailable()
        case _:
            log.error("%s failed", name, exc_info=error)
            return internal_error()


def parse_body(model: type[M], body: bytes, *, optional: bool) -> M | Refused | None:
    """The body as a model; `optional` bodies may be empty."""
    if optional and not body.strip():
        return None
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        return Refused(Code.INVALID_REQUEST, f"The body is not valid: {words_of(error)}")
    except RecursionError:
        return Refused(Code.INVALID_REQUEST, "The body is nested too deeply.")


def parse_query(model: type[M], query: str) -> M | Refused:
    """The query string as a model. Unknown parameters are ignored; one that is known may stand only once."""
    return _read_query(model, query) if query else _unasked(model)


@cache
def _unasked(model: type[M]) -> M | Refused:
    """What no query string at all means: read once, since most requests have none, and nobody changes it."""
    return _read_query(model, "")


def _read_query(model: type[M], query: str) -> M | Refused:
    values: dict[str, str] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        return Refused(Code.INVALID_REQUEST, "The query string is not valid.")
    for name, value in pairs:
        if name in values and name in model.model_fields:
            return Refused(Code.INVALID_REQUEST, f"The parameter {name} stands more than once.")
        values[name] = value
    try:
        return model.model_validate({name: values[name] for name in model.model_fields if name in values})
    except ValidationError as error:
        return Refused(Code.INVALID_REQUEST, f"The query is not valid: {words_of(error)}")


PLAIN = {
    "extra_forbidden": "is not a property of this body",
    "unexpected_keyword_argument": "is not a property of this body",
    "missing": "is missing",
    "string_pattern_mismatch": "holds characters that it may not hold",
}
"""Problems that the validator's own words would not explain to everybody."""


MOST_PROBLEMS = 2_000
"""More problems than this are only counted: they could be listed only all at once, which takes some 2 ms for each 1,000."""


def words_of(error: ValidationError) -> str:
    """What is wrong, for a person: the place and the reason of the first few problems; never the value itself."""
    if error.error_count() > MOST_PROBLEMS:
        return f"there are {error.error_count()} problems"
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    words = []
    for problem in problems[:5]:
        place = ".".join(str(part) for part in problem["loc"])
        reason = PLAIN.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")
        words.append(f"{place}: {reason}" if place else reason)
    if len(problems) > 5:
        words.append(f"and {len(problems) - 5} more")
    return "; ".join(words)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
