"""The type of operations. Routing, authorization, metering, the OpenAPI document and tests read its fields."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel

from actors.values import Code, Refused, Scope
from service.api.authentication import Caller
from service.api.context import Services
from service.api.cookies import SAFE
from service.api.errors import Family
from service.api.messages import Answer, Request
from service.api.policy import Access, Budget


@dataclass(slots=True)
class Call:
    """A validated request and its caller."""

    request: Request
    caller: Caller
    query: Any = None
    body: Any = None
    idempotency_key: str | None = None

    @property
    def path_values(self) -> Mapping[str, str]:
        return self.request.path_values


Handler = Callable[[Services, Call], Awaitable[Answer | Refused]]


@dataclass(frozen=True, slots=True)
class Tool:
    """The operation as a tool of the Model Context Protocol. Beside these words, an agent reads the first sentence of the
    operation's description, which says what it returns.

    `when` is one sentence that begins with "Use it". `example` has arguments. `bounds` is a sentence about arguments whose
    bounds their schema does not have, such as periods.
    """

    name: str
    when: str
    example: Mapping[str, Any] = field(default_factory=dict)
    bounds: str = ""


@dataclass(frozen=True, slots=True)
class ToolList:
    """A list in the result of a tool beside what its operation returns: its property, what it has, and how it is read for the
    path values of a call that succeeded."""

    name: str
    item: type[BaseModel]
    description: str
    read: Callable[[Services, Mapping[str, str]], Awaitable[Sequence[BaseModel]]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table of operations."""

    name: str
    method: str
    path: str
    summary: str
    description: str
    tag: str
    handler: Handler
    result: type[BaseModel]
    access: Access
    status: int = 200  # of a success
    example: Mapping[str, Any] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    body_optional: bool = False
    raw_body: bool = False  # the handler checks `Request.body` itself
    form: bool = False  # the body may also be a form
    same_origin: bool = False  # requests must come from a page of this service, as changes in a session always must
    body_bytes: int | None = None  # overrides the configured limit
    query: type[BaseModel] | None = None
    plain_text: bool = False  # documents `text/plain` for JSON, which every operation accepts
    headers: tuple[str, ...] = ()  # extra headers of a 200
    spreadsheet: bool = False  # a 200 is a CSV file if the query says `format=csv`
    # Operations that take an id from this response, each with a JSON pointer to the id.
    leads_to: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[Code, ...] = ()  # refusals by the handler; `all_codes` adds those that other fields imply
    family: Family = Family.CATALOG
    scopes: tuple[Scope, ...] = ()
    admin: bool = False  # the account must be an administrator now, whatever scopes the key has
    metered: bool = False  # requests use quota
    usecase: bool = False  # requests also count in `usecase_reads`
    budget: Budget | None = None
    keyless: Budget = Budget.KEYLESS  # what requests without a key use if there is no `budget`
    cors: bool = False  # any web page may call this, without credentials
    cacheable: bool = False
    hot: bool = False  # the fast path may serve this
    repeatable: bool = False  # can be repeated without end, each time with a row in the audit or a queue
    conditional: bool = False  # changes only the version that `If-Match` names
    keyed: bool = False  # reads the header `Idempotency-Key`
    while_suspended: bool = False  # the session of a suspended account may call this
    pays: bool = False  # calls the payment processor, so the deadline is longer
    third_party: bool = False  # texts of the response are written by others than the operator
    tool: Tool | None = None  # for reads only
    tool_list: ToolList | None = None  # what that tool's result has in addition

    @property
    def path_names(self) -> tuple[str, ...]:
        """The path's parameters, in order."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    @property
    def tool_arguments(self) -> tuple[str, ...]:
        """The parameters that its tool takes: those of the path, then those of the query. A tool returns no file."""
        query = {} if self.query is None else self.query.model_fields
        names = (each.alias or name for name, each in query.items())
        return (*self.path_names, *(name for name in names if not (self.spreadsheet and name == "format")))

    @property
    def reads(self) -> bool:
        """Whether the operation reads a body."""
        return self.body is not None or self.raw_body

    @property
    def account(self) -> bool:
        """Whether the key must belong to an account."""
        return self.family is Family.SPONSORSHIP and self.access is Access.REQUIRED

    @property
    def changes(self) -> bool:
        """Whether the method may change something."""
        return self.method not in SAFE

    @property
    def all_codes(self) -> tuple[Code, ...]:
        """Every refusal that a caller may get."""
        codes = set(self.codes)
        codes |= {Code.INTERNAL_ERROR, Code.SERVICE_UNAVAILABLE, Code.PAYLOAD_TOO_LARGE, Code.INVALID_REQUEST}
        if self.budget is not None or self.access is not Access.PUBLIC:
            codes.add(Code.RATE_LIMITED)
        if self.access is Access.SESSION:
            codes.add(Code.UNAUTHORIZED)
            if not self.while_suspended:
                codes.add(Code.FORBIDDEN)
        elif self.access is not Access.PUBLIC:
            codes |= {Code.UNAUTHORIZED, Code.INVALID_API_KEY, Code.KEY_EXPIRED, Code.FORBIDDEN}
        if self.reads:
            codes.add(Code.UNSUPPORTED_MEDIA_TYPE)
        if self.conditional:
            codes.add(Code.PRECONDITION_FAILED)
        if self.keyed:
            codes.add(Code.IDEMPOTENCY_CONFLICT)
        if self.scopes:
            codes.add(Code.INSUFFICIENT_SCOPE)
        if self.metered:
            codes.add(Code.QUOTA_EXHAUSTED)
        if self.usecase or self.account:
            codes.add(Code.CLAIM_REQUIRED)
        if self.admin or self.same_origin or (self.changes and self.access in (Access.REQUIRED, Access.SESSION)):
            codes.add(Code.FORBIDDEN)
        return tuple(code for code in Code if code in codes)


account_operation = partial(Operation, family=Family.SPONSORSHIP, access=Access.REQUIRED, metered=True)
"""An operation of accounts, with a key or in a browser session."""

admin_operation = partial(account_operation, tag="Administration", admin=True)
admin_read = partial(admin_operation, method="GET", scopes=(Scope.ADMIN_READ,))
admin_write = partial(admin_operation, scopes=(Scope.ADMIN_WRITE,))
