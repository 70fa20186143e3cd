"""What an operation is: one row of data and a handler. Routes, authorization, metering, OpenAPI and tests come from it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
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
    """What a handler gets: the request, validated, and who calls."""

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
class Operation:
    """One row of the table of operations.

    `codes` are the refusals of the handler itself; those that follow from the other fields are added by `all_codes`.
    `admin` ones need an account that is an administrator now, whatever the scopes of the key. Operations of the
    sponsorship family that need a key need one of an account. `metered` operations count towards quota, `usecase` ones
    also towards `usecase_reads`. `hot` ones may be served without a framework. `cors` ones may be called from any web
    page, without credentials. `raw_body` ones get the body as it came, in `Request.body`, and check it themselves.
    `form` ones take their body as a form, too. `same_origin` ones, and all that change something in a session, have to
    come from a page of this service. `body_bytes` bounds the body where the bound of the configuration does not fit.
    `leads_to` names operations whose path parameter `id` stands in the answer, and where: a JSON pointer. `plain_text`
    ones are documented to take their JSON as text too, as all do. `headers` are those of a 200 beside the ones that
    follow from the other fields. `keyed` ones take the header `Idempotency-Key`. `pays` ones ask
    the payment processor, and may take as much longer as it may.
    """

    name: str
    method: str
    path: str
    summary: str
    description: str
    tag: str
    handler: Handler
    result: type[BaseModel]
    access: Access
    example: Mapping[str, Any] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    body_optional: bool = False
    raw_body: bool = False
    form: bool = False
    same_origin: bool = False
    body_bytes: int | None = None
    query: type[BaseModel] | None = None
    plain_text: bool = False
    headers: tuple[str, ...] = ()
    leads_to: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[Code, ...] = ()
    family: Family = Family.CATALOG
    scopes: tuple[Scope, ...] = ()
    admin: bool = False
    metered: bool = False
    usecase: bool = False
    budget: Budget | None = None
    cors: bool = False
    cacheable: bool = False
    hot: bool = False
    keyed: bool = False
    pays: bool = False

    @property
    def path_names(self) -> tuple[str, ...]:
        """The names of the path's parameters, in order."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    @property
    def account(self) -> bool:
        """Whether the key has to belong to an account."""
        return self.family is Family.SPONSORSHIP and self.access is Access.REQUIRED

    @property
    def changes(self) -> bool:
        """Whether a call may change something, by its method."""
        return self.method not in SAFE

    @property
    def all_codes(self) -> tuple[Code, ...]:
        """Every refusal that a caller of this operation can meet."""
        codes = set(self.codes)
        codes |= {Code.INTERNAL_ERROR, Code.SERVICE_UNAVAILABLE, Code.PAYLOAD_TOO_LARGE, Code.INVALID_REQUEST}
        if self.budget is not None or self.access is not Access.PUBLIC:
            codes.add(Code.RATE_LIMITED)
        if self.access is Access.SESSION:
            codes.add(Code.UNAUTHORIZED)
        elif self.access is not Access.PUBLIC:
            codes |= {Code.UNAUTHORIZED, Code.INVALID_API_KEY, Code.KEY_EXPIRED}
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
