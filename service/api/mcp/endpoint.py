"""The endpoint of the Model Context Protocol: one message in, at most one out, and no state in between.

Clients of revisions 2025-03-26 to 2025-11-25 send `initialize` first; those of 2026-07-28 describe themselves in each
request. Calls of tools go through `dispatch`, so they are limited, charged, refused, counted and logged as their operations
are. All other messages count as pages for the limit of an address, and so do calls with wrong arguments and those that the
operation refused before its limits counted them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any

import trio
from pydantic_core import from_json

from actors.values import CallFailed, Code, Refused, Scope
from service.api.authentication import Caller, authenticate
from service.api.context import Services
from service.api.cors import ANY, preflight_headers
from service.api.deadlines import start_deadline
from service.api.dispatch import dispatch
from service.api.errors import Family, body_of, headers_of, message_of, status_of, too_fast
from service.api.mcp import reading
from service.api.mcp.challenges import ERRORS, RESOURCE_METADATA, challenge_of
from service.api.mcp.reading import Failed, Read, parsed, read, unacceptable
from service.api.mcp.tools import THIRD_PARTY, definitions, request_for, tools_of, with_list
from service.api.messages import NO_STORE, Answer, Headers, Request, note, trace
from service.api.operation import Operation
from service.api.policy import Access
from service.api.refusals import failure, refusal
from service.schemas import mcp as wire
from service.version import VERSION

PATH = "/mcp"
SLASHED = "/mcp/"
"""The same endpoint, for clients that end addresses with a slash."""
NAME = "mcp"
"""The operation of messages that call no tool, in logs and metrics."""

TTL_MS = 3_600_000
"""How long clients may keep the list of tools, which changes only with a release."""

SERVER = wire.Implementation(name="catalog-service", title="Catalog and Sponsorship Service", version=VERSION)
INSTRUCTIONS = (
    "Search this catalog for use cases of automation and for bot templates, then read one by its slug. No key is needed. "
    "With the header `Authorization: Bearer <key>`, calls count for that key, and `get_usage` returns what is left. "
    "Slots for ads have prices and free weeks; with a key of an account, its bookings and their delivery can be read. "
    f"{THIRD_PARTY}"
)

_READABLE = ("ratelimit", "ratelimit-policy")
"""Headers of an operation's response that the response to a call has, too."""

_EXPOSED = "RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id"
_ALLOWED = ("authorization", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version", "x-request-id")


def refused_message(services: Services, refused: Refused, request: Request) -> Answer:
    """The response to a request whose message is not read, as an error of JSON-RPC."""
    note("operation", NAME)
    note("refusal", str(refused.code))
    status = status_of(refused)
    error = wire.Error(code=status, message=message_of(refused), data=body_of(refused, Family.CATALOG))
    answer = _error(error, None, status)
    answer.headers += [*headers_of(refused), *NO_STORE, *_cors(services, request)]
    return answer


def preflight(services: Services, request: Request, max_age_seconds: int) -> Answer:
    """Tell a browser whether a page of another site may send messages."""
    if not _admits(services, request):
        return refused_message(services, _foreign(), request)
    headers = preflight_headers(request, "POST", max_age_seconds, _ALLOWED)
    return Answer(204, headers=[*headers, *_cors(services, request)])


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A message that calls an operation."""

    of: Read
    operation: Operation
    arguments: Mapping[str, Any]


class Mcp:
    """The endpoint of one node."""

    def __init__(self, services: Services, operations: Sequence[Operation]) -> None:
        self._services = services
        self._tools = tools_of(operations)

    async def answer(self, request: Request) -> Answer:
        """Answer one POST. Raises nothing but cancellation."""
        note("operation", NAME)
        if not _admits(self._services, request):
            return refused_message(self._services, _foreign(), request)
        try:
            outcome = await self._outcome(request)
        except Exception as error:
            outcome = failure(NAME, error)
        if isinstance(outcome, Refused):
            return refused_message(self._services, outcome, request)
        outcome.headers += [*NO_STORE, *_cors(self._services, request)]
        return outcome

    async def _outcome(self, request: Request) -> Answer | Refused:
        # First, because reading a message of the largest size takes longer than all that follows.
        refused = too_fast(self._services.budgets.page(request.client)) or unacceptable(request)
        if refused is not None:
            return refused
        of = read(request)
        if isinstance(of, Read) and of.message.method != reading.CALL and (refused := await self._bad_key(request)):
            return self._challenge(refused, request, of.message.id)
        asked = self._asked(of) if isinstance(of, Read) else of
        if isinstance(asked, ToolCall):
            return await self._call(asked, request)
        if isinstance(asked, Failed):
            # Older clients take an HTTP error for a failure of the connection.
            return _failed(asked, 200 if isinstance(of, Read) and not of.stateless else asked.status)
        assert isinstance(of, Read), "only a message that was read asks for something"
        return Answer(202) if asked is None else _succeeded(of, asked)

    async def _bad_key(self, request: Request) -> Refused | None:
        """The refusal of a key in a message that needs none, so that a client notices at once that its own has ended. A key
        that cannot be looked up now is not refused."""
        start_deadline(self._services.config.http.answer_seconds)
        try:
            caller = await self._caller(request)
        except (CallFailed, trio.TooSlowError):
            return None
        return caller if isinstance(caller, Refused) and caller.code in ERRORS else None

    async def _caller(self, request: Request) -> Caller | Refused:
        services = self._services
        header = request.headers.get("authorization")
        return await authenticate(
            header, Access.OPTIONAL, request.client, services.key_cache, services.budgets, services.clock
        )

    def _challenge(
        self,
        refused: Refused,
        request: Request,
        message_id: wire.Id | None,
        *scopes: Scope,
        family: Family = Family.CATALOG,
    ) -> Answer:
        """An error of HTTP, which tells the client how to get a key that may do this."""
        note("refusal", str(refused.code))
        status = ERRORS[refused.code]
        error = wire.Error(code=status, message=message_of(refused), data=body_of(refused, family))
        answer = _error(error, message_id, status)
        place = self._services.base_url + RESOURCE_METADATA + request.path
        answer.headers += challenge_of(refused, place, scopes, sent="authorization" in request.headers)
        return answer

    def _asked(self, of: Read) -> ToolCall | wire.Result | Failed | None:
        """The call that a message asks for, or its result. None for a notification."""
        if of.message.notifies:
            return None
        match of.message.method:
            case reading.CALL:
                return self._call_in(of)
            case "tools/list":
                params = parsed(wire.ListParams, of)
                return params if isinstance(params, Failed) else self._list
            case "server/discover" if of.stateless:
                return wire.DiscoverResult(instructions=INSTRUCTIONS)
            case "initialize" if not of.stateless:
                return _initialized(of)
            case "ping" if not of.stateless:
                return wire.Result()
            case _:
                return of.failed(wire.METHOD_NOT_FOUND, "This method is not supported.")

    def _call_in(self, of: Read) -> ToolCall | Failed:
        params = parsed(wire.CallParams, of)
        if isinstance(params, Failed):
            return params
        operation = self._tools.get(params.name)
        if operation is None:
            return of.failed(wire.INVALID_PARAMS, f"There is no tool with this name. Tools: {', '.join(self._tools)}.")
        return ToolCall(of, operation, params.arguments or {})

    async def _call(self, call: ToolCall, request: Request) -> Answer:
        """Call an operation. A refusal is a result that tells the agent what to do, with the error body of the API, unless
        another authorization resolves it: that is the client's to do."""
        operation = call.operation
        note("operation", operation.name)
        inner = request_for(operation, call.arguments, request)
        if isinstance(inner, Refused):
            answer = refusal(inner, operation.family)
        else:
            answer = await dispatch(self._services, operation, inner)
            if _is_limited(answer):
                self._services.budgets.not_a_page(request.client)
            if answer.refused is None and (added := operation.tool_list) is not None:
                answer.body = with_list(answer.body, added.name, await added.read(self._services, inner.path_values))
        _note_status(answer.status)
        if (refused := answer.refused) is not None and refused.code in ERRORS:
            caller = await self._caller(request) if refused.code is Code.INSUFFICIENT_SCOPE else None
            scopes = (*operation.scopes, *(caller.scopes if isinstance(caller, Caller) else ()))
            return self._challenge(refused, request, call.of.message.id, *scopes, family=operation.family)
        passed = [header for header in answer.headers if header[0] in _READABLE]
        content = (wire.TextContent(text=answer.body.decode()), *_headers_as_text(operation, answer))
        if answer.refused is None:
            meta = wire.ResultMeta(thirdPartyContent=True) if operation.third_party else None
            structured = from_json(answer.body)
            result = wire.CallToolResult(content=content, structuredContent=structured, isError=False, meta=meta)
        else:
            result = wire.CallToolResult(content=content, isError=True)
        return _succeeded(call.of, result, passed)

    @cached_property
    def _list(self) -> wire.ListToolsResult:
        return wire.ListToolsResult(tools=definitions(self._tools, self._services.base_url))


def _initialized(of: Read) -> wire.Result | Failed:
    """Agree on the client's revision, or offer the newest that begins with `initialize`."""
    params = parsed(wire.InitializeParams, of)
    if isinstance(params, Failed):
        return params
    wanted = params.protocolVersion
    revision = wanted if wanted in wire.INITIALIZED else wire.INITIALIZED[-1]
    return wire.InitializeResult(protocolVersion=revision, serverInfo=SERVER, instructions=INSTRUCTIONS)


def _succeeded(of: Read, result: wire.Result, headers: Headers | None = None) -> Answer:
    assert of.message.id is not None, "notifications have no result"
    if of.stateless:
        meta = (result.meta or wire.ResultMeta()).model_copy(update={"server": SERVER})
        added: dict[str, Any] = {"resultType": "complete", "meta": meta}
        if isinstance(result, wire.CacheableResult):
            added |= {"ttlMs": TTL_MS, "cacheScope": "public"}
        result = result.model_copy(update=added)
    return _sent(wire.Response(id=of.message.id, result=result), headers)


def _headers_as_text(operation: Operation, answer: Answer) -> Iterator[wire.TextContent]:
    """The headers that the operation adds to an answer, as text, because agents see no headers."""
    for name in operation.headers:
        for key, value in answer.headers:
            if key == name.lower():
                yield wire.TextContent(text=f"{name}: {value}")


def _failed(failed: Failed, status: int) -> Answer:
    note("refusal", str(Code.NOT_FOUND if failed.code == wire.METHOD_NOT_FOUND else Code.INVALID_REQUEST))
    _note_status(failed.status)
    return _error(wire.Error(code=failed.code, message=failed.message, data=failed.data), failed.id, status)


def _sent(response: wire.Response, headers: Headers | None = None) -> Answer:
    return Answer(200, response.model_dump_json(exclude_none=True, by_alias=True).encode(), [*(headers or [])])


def _error(error: wire.Error, message_id: wire.Id | None, status: int) -> Answer:
    without = {"error": {"data"}} if error.data is None else None
    return Answer(status, wire.ErrorResponse(id=message_id, error=error).model_dump_json(exclude=without).encode())


def _admits(services: Services, request: Request) -> bool:
    """Whether the page that sends a request may do so; other programs send no `Origin`.

    A page under a host name that was made to resolve to this server has an origin of its own, so it may not.
    """
    origin, listed = request.headers.get("origin"), services.config.server.mcp_origins
    return origin in (None, services.base_url) or ANY in listed or origin in listed


def _cors(services: Services, request: Request) -> Headers:
    origin = request.headers.get("origin")
    if origin is None or not _admits(services, request):
        return [("vary", "Origin")]
    shared = ("access-control-allow-origin", ANY if ANY in services.config.server.mcp_origins else origin)
    return [shared, ("access-control-expose-headers", _EXPOSED), ("vary", "Origin")]


def _foreign() -> Refused:
    words = "A page of this origin may not call this endpoint. The operator can allow it in server.mcp_origins."
    return Refused(Code.FORBIDDEN, words)


def _is_limited(answer: Answer) -> bool:
    """Whether a limit of the operation counted the call. Unknown keys and whoever has used up a limit are not counted, and
    would have their messages read without end."""
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return any(name == "ratelimit" for name, _ in answer.headers)
    return answer.status != HTTPStatus.TOO_MANY_REQUESTS


def _note_status(status: int) -> None:
    """Let the log and the metrics tell the status that the operation would have had, not that of the envelope."""
    if (current := trace.get()) is not None:
        current.status = status
