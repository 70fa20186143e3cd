"""Parses JSON bodies, forms and query strings into wire models, or refuses them. Pure."""

import json
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from functools import cache, lru_cache
from typing import TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from actors.values import Code, Problem, Refused, invalid_field
from service.api.duplicate_keys import repeated_key
from service.api.messages import Request
from service.schemas.problems import LONGEST_NAME, problems_of

M = TypeVar("M", bound=BaseModel)

FORM = "application/x-www-form-urlencoded"
IDEMPOTENCY_KEY = "idempotency-key"
"""The request header, in lower case as in `Request.headers`."""

IDEMPOTENCY_KEY_PATTERN = "[A-Za-z0-9_-]{1,100}"

MAX_FIELDS = 100
"""Maximum fields of a form or query string."""

SHORT_CHARACTERS = 64
"""A query of at most this length is often sent again, so its model is cached. Longer ones, as with a cursor, rarely are."""


LONGEST_NUMBER = 64
MAX_WHOLE = 10**18

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]{1,4})?', re.DOTALL)
"""A string, or a number, of a JSON text."""
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_IDEMPOTENCY_KEY = re.compile(f'({IDEMPOTENCY_KEY_PATTERN})|"({IDEMPOTENCY_KEY_PATTERN})"')


def read_idempotency_key(headers: Mapping[str, str]) -> str | Refused | None:
    """The value of `Idempotency-Key`, with or without quotes: drafts of the header make it a string of RFC 8941, and most
    services take it plain. None if the header is absent."""
    text = headers.get(IDEMPOTENCY_KEY)
    if text is None:
        return None
    if found := _IDEMPOTENCY_KEY.fullmatch(text):
        return found[1] or found[2]
    return invalid_field("Idempotency-Key", "pattern", "must be 1 to 100 characters of A-Z, a-z, 0-9, _ and -")


def read_form(body: bytes) -> dict[str, str]:
    """The fields of a form. The last field of a name wins. Empty if the body is not a form."""
    return dict(_fields(body))


def form_as_json(body: bytes) -> bytes | Refused:
    """A form as a JSON object. A repeated field is refused (RFC 6749, 3.2)."""
    fields = _fields(body)
    counts = Counter(name for name, _ in fields)
    repeated = [name[:LONGEST_NAME] for name, count in counts.items() if count > 1]
    if repeated:
        problems = tuple(Problem(name, "repeated_key", "must be given only once") for name in repeated)
        return Refused(Code.INVALID_REQUEST, "The form is not valid", problems=problems)
    return json.dumps(dict(fields)).encode()


def _fields(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        return []


def undecodable(request: Request) -> Refused | None:
    """The refusal of a body in a content coding (RFC 9110, 8.4)."""
    coding = request.headers.get("content-encoding", "")
    if not request.body or coding.strip().lower() in ("", "identity"):
        return None
    return Refused(
        Code.UNSUPPORTED_MEDIA_TYPE, "Send the body as it is, without Content-Encoding: this service decodes no coding."
    )


def unreadable(body: bytes) -> str | None:
    """Why bytes that are not JSON are none, if their encoding is wrong. None if it is something else.

    A parser may ignore a byte order mark (RFC 8259, 8.1). This one does not, because others fail on it.
    """
    if body.startswith(BOM_UTF8):
        return "it begins with a byte order mark, which is to be left out"
    if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in body[:2]:
        return "it is UTF-16 or UTF-32, and not UTF-8"
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8: byte {error.start + 1} does not fit"
    if _HALF.search(body):
        return "an escape stands for half of a surrogate pair, such as \\ud800"
    return None


def whole_numbers(body: bytes) -> bytes:
    """A JSON text with `20.0` and `2e1` written as 20, which they are for JSON Schema (Validation, 6.1.1). Exact, because it
    reads digits. Strings, other numbers and numbers of more than 18 digits stay as they are."""
    return _TOKEN.sub(_whole, body)


def _whole(token: re.Match[bytes]) -> bytes:
    text = token[0]
    if text[:1] == b'"' or len(text) > LONGEST_NUMBER or text.isdigit():
        return text
    value = Decimal(text.decode())
    return b"%d" % int(value) if abs(value) < MAX_WHOLE and value == value.to_integral_value() else text


def parse_body(model: type[M], body: bytes, *, optional: bool) -> M | Refused | None:
    """The body as a model. None if it is `optional` and empty or null."""
    if optional and body.strip() in (b"", b"null"):
        return None
    if not body.strip():
        return Refused(Code.INVALID_REQUEST, "The body is empty. Send a JSON object.")
    try:
        parsed = model.model_validate_json(body)
        repeated = repeated_key(body, parsed)
    except ValidationError as error:
        problems = problems_of(error)
        if problems[0].code == "json_invalid":
            reason = unreadable(body)
            words = problems[0].message if reason is None else f"is not valid JSON: {reason}"
            return Refused(Code.INVALID_REQUEST, f"The body {words}")
        if any(problem.code == "int_type" for problem in problems) and (whole := whole_numbers(body)) != body:
            return parse_body(model, whole, optional=optional)
        return Refused(Code.INVALID_REQUEST, "The body is not valid", problems=problems)
    except RecursionError:
        return Refused(Code.INVALID_REQUEST, "The body is nested too deeply.")
    if repeated is not None:
        problem = Problem(repeated, "repeated_key", "must be given only once")
        return Refused(Code.INVALID_REQUEST, "The body is not valid", problems=(problem,))
    return parsed


def parse_query(model: type[M], query: str) -> M | Refused:
    """The query string as a model, which requests share. Unknown parameters are ignored, repeated known ones refused."""
    return _short_query(model, query) if len(query) <= SHORT_CHARACTERS else _read_query(model, query)


@lru_cache(256)
def _short_query(model: type[M], query: str) -> M | Refused:
    return _read_query(model, query)


@cache
def _parameters(model: type[BaseModel]) -> frozenset[str]:
    """The names of a query's parameters: an alias where the name is a word of Python's."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def _read_query(model: type[M], query: str) -> M | Refused:
    values: dict[str, str] = {}
    known = _parameters(model)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        return Refused(Code.INVALID_REQUEST, "The query string is not valid.")
    for name, value in pairs:
        if name in values:
            problem = Problem(name[:LONGEST_NAME], "repeated_key", "must be given only once")
            return Refused(Code.INVALID_REQUEST, "The query is not valid", problems=(problem,))
        if name in known:
            values[name] = value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        return Refused(Code.INVALID_REQUEST, "The query is not valid", problems=problems_of(error))
