"""Reads a message of the Model Context Protocol from a POST, or says what is wrong with it. Pure."""

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from actors.values import Code, Refused
from service.api.duplicate_keys import repeated_key
from service.api.messages import Request
from service.api.validation import undecodable, unreadable, whole_numbers
from service.schemas import mcp as wire
from service.schemas.problems import problems_of, text_of

M = TypeVar("M", bound=BaseModel)

CALL = "tools/call"

_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


@dataclass(frozen=True, slots=True)
class Failed:
    """An error of the protocol, for the request `id` if it could be read."""

    code: int
    message: str
    id: wire.Id | None = None
    data: dict[str, Any] | None = None

    @property
    def status(self) -> int:
        """The HTTP status, as revision 2026-07-28 maps codes to it."""
        return 404 if self.code == wire.METHOD_NOT_FOUND else 400


@dataclass(frozen=True, slots=True)
class Read:
    """A valid message. `stateless`: its revision has no `initialize`."""

    message: wire.Message
    stateless: bool

    @property
    def params(self) -> Mapping[str, Any]:
        return self.message.params or {}

    def failed(self, code: int, message: str) -> Failed:
        return Failed(code, message, self.message.id)


def unacceptable(request: Request) -> Refused | None:
    """The refusal of a request that does not declare plain JSON. Every response is JSON, whatever `Accept` says."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return Refused(Code.UNSUPPORTED_MEDIA_TYPE, "Send the message with Content-Type: application/json.")
    return undecodable(request)


def read(request: Request) -> Read | Failed:
    """The message of a request, of a revision that this service supports."""
    message = _message(request.body)
    return message if isinstance(message, Failed) else _of_revision(message, request.headers)


def parsed(model: type[M], of: Read) -> M | Failed:
    """The parameters of a message."""
    try:
        return model.model_validate(of.params)
    except ValidationError as error:
        return of.failed(wire.INVALID_PARAMS, f"The parameters are not valid: {text_of(problems_of(error))}")


def _message(body: bytes) -> wire.Message | Failed:
    try:
        value = from_json(body, allow_inf_nan=False)
        if _has_fractions(value):
            value = from_json(whole_numbers(body), allow_inf_nan=False)
    except ValueError:
        reason = unreadable(body)
        return Failed(wire.PARSE_ERROR, f"The body is not valid JSON{'' if reason is None else f': {reason}'}.")
    if isinstance(value, list):
        # Of all revisions, only 2025-03-26 has batches. One would have a single line in the log, and a single limit.
        return Failed(
            wire.INVALID_REQUEST, "Send one message in each request: batches are not supported in any revision."
        )
    if not isinstance(value, dict):
        return Failed(wire.INVALID_REQUEST, "The body must be a JSON-RPC message: an object.")
    known = _id(value.get("id"))
    if "id" in value:
        if known is None:
            return Failed(wire.INVALID_REQUEST, "The message is not valid: id: must be a string or a whole number")
        value["id"] = known
    try:
        message = wire.Message.model_validate(value)
    except ValidationError as error:
        return Failed(wire.INVALID_REQUEST, f"The message is not valid: {text_of(problems_of(error))}", known)
    repeated = repeated_key(body, message)
    if repeated is not None:
        return Failed(wire.INVALID_REQUEST, f"The message is not valid: {repeated}: must be given only once", known)
    return message


def _has_fractions(value: Any) -> bool:
    """Whether the id or an argument of a message is a number with a fraction or an exponent. JSON has one type of number, so
    1.0 is 1. As a float, 2.0000000000000000001 would be 2."""
    if not isinstance(value, dict):
        return False
    params = value.get("params")
    arguments = params.get("arguments") if isinstance(params, dict) else None
    numbers = [value.get("id"), *(arguments.values() if isinstance(arguments, dict) else ())]
    return any(isinstance(number, float) for number in numbers)


def _id(value: Any) -> wire.Id | None:
    """The id of a message; None if it can be none."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _of_revision(message: wire.Message, headers: Mapping[str, str]) -> Read | Failed:
    """The message, if its header and its `_meta` name a supported revision and agree.

    Without a header, it is one of the older revisions: `initialize` has none yet, and other requests differ in nothing that
    matters to tools.
    """
    named = headers.get("mcp-protocol-version")
    if named is not None and named not in wire.SUPPORTED:
        return _unsupported(named, message.id)
    meta = (message.params or {}).get("_meta")
    described = isinstance(meta, dict) and wire.VERSION_KEY in meta
    if message.notifies or (named not in wire.STATELESS and not described):
        return Read(message, stateless=False)
    of = Read(message, stateless=True)
    try:
        revision = wire.RequestMeta.model_validate(meta).version
    except ValidationError as error:
        return of.failed(wire.INVALID_PARAMS, f"params._meta is not valid: {text_of(problems_of(error))}")
    wrong = _mismatch(of, revision, headers)
    if wrong is not None:
        return of.failed(wire.HEADER_MISMATCH, f"The header {wrong} must have the same value as the message.")
    return of if revision in wire.STATELESS else _unsupported(revision, message.id)


def _mismatch(of: Read, revision: str, headers: Mapping[str, str]) -> str | None:
    """The first header that differs from the message. Proxies may have routed by it."""
    if headers.get("mcp-protocol-version") != revision:
        return "MCP-Protocol-Version"
    if headers.get("mcp-method") != of.message.method:
        return "Mcp-Method"
    if of.message.method == CALL and _decoded(headers.get("mcp-name", "")) != of.params.get("name", ""):
        return "Mcp-Name"
    return None


def _unsupported(revision: str, message_id: wire.Id | None) -> Failed:
    data = {"supported": list(wire.SUPPORTED), "requested": revision[:100]}
    words = f"This revision of the protocol is not supported. Use one of {', '.join(wire.SUPPORTED)}."
    return Failed(wire.UNSUPPORTED_VERSION, words, message_id, data)


def _decoded(value: str) -> str | None:
    """The value of a header, which may be in Base64. None if it cannot be decoded."""
    encoded = _ENCODED.fullmatch(value)
    if encoded is None:
        return value
    try:
        return b64decode(encoded[1], validate=True).decode()
    except ValueError:
        return None
