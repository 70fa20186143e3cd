"""The data of the readable reference, and its search. Both come from the OpenAPI document, so they cannot differ. Pure."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from actors.values import Code
from service.api.errors import TABLE
from service.web.reference.calls import access_of, call_of, examples_of
from service.web.reference.kinds import Field, Schema, fields_of, kind_of, resolved
from service.web.reference.samples import Sample, samples_of

LONGEST_EXAMPLE = 6_000
"""Characters of an example. In longer ones, lists are cut to their first item."""

_SCOPES = re.compile(r" ?A scoped key needs ((?:`[\w:]+`(?:, | and )?)+)\.")
_ADMIN = " The account must be an administrator."
_COMMON = 2
"""An error is common if at least one in so many operations returns it."""

REMEDIES: Mapping[Code, str] = {
    Code.INVALID_REQUEST: "Correct the fields that `fields` lists, or else the message names.",
    Code.INVALID_CLAIM: "Use the claim token of the key, and the email address that the code went to.",
    Code.INVALID_CODE: "Check the code. It may be wrong, used or expired; request a new one.",
    Code.INVALID_PASSKEY: "Request a new challenge and try again with a passkey of this account.",
    Code.AUTHORIZATION_PENDING: "Poll again after `interval` seconds: the person has not decided yet.",
    Code.SLOW_DOWN: "Poll at the new `interval`.",
    Code.EXPIRED_TOKEN: "Start a new device login.",
    Code.ACCESS_DENIED: "Stop polling: the person denied the device.",
    Code.INVALID_GRANT: "Ask the person again. A code and a refresh token work once, and only for the client that got them.",
    Code.INVALID_CLIENT: "Register the client again. Send no secret: clients are public.",
    Code.INVALID_CLIENT_METADATA: "Correct the metadata as the message says.",
    Code.INVALID_REDIRECT_URI: "Use https, http of 127.0.0.1, [::1] or localhost, or a scheme of your program.",
    Code.INVALID_SCOPE: "Ask for scopes that programs can get, and that the person allowed.",
    Code.INVALID_TARGET: "Send the `resource` of the metadata, as in the authorization request.",
    Code.UNSUPPORTED_GRANT_TYPE: "Use a `grant_type` that the metadata lists.",
    Code.UNSUPPORTED_RESPONSE_TYPE: "Use `response_type=code`.",
    Code.UNAUTHORIZED: "Send `Authorization: Bearer` and the key, or sign in.",
    Code.INVALID_API_KEY: "Check the key for a missing character, or create a new one.",
    Code.KEY_EXPIRED: "Claim the key. It then works again. A key of an account stays ended: create another one.",
    Code.QUOTA_EXHAUSTED: "Claim the key. If it is claimed, wait for the next calendar month (UTC).",
    Code.CLAIM_REQUIRED: "Claim the key. An anonymous key cannot do this, or has reached its limit.",
    Code.INSUFFICIENT_SCOPE: "Use a key with the scope that the message names.",
    Code.FORBIDDEN: "Use an account that may do this. In a browser, send the request from a page of this service.",
    Code.NOT_FOUND: "Check the path and the id or slug in it.",
    Code.METHOD_NOT_ALLOWED: "Use a method that the `Allow` header names.",
    Code.ALREADY_UPGRADED: "Sign in with the email address that claimed the key.",
    Code.KEY_LIMIT: "Revoke a key that you no longer need.",
    Code.PASSKEY_LIMIT: "Remove a passkey that you no longer use.",
    Code.SLOT_UNAVAILABLE: "Choose another week or slot. This one is taken, over, or not sold.",
    Code.CAMPAIGN_NOT_BOOKABLE: "Edit the rejected campaign and submit it again.",
    Code.PROFILE_REQUIRED: "Save the sponsor profile first.",
    Code.HOLD_LIMIT: "Pay or cancel an unpaid booking first, or wait as long as `retryAfter` says.",
    Code.CAMPAIGN_LIMIT: "Edit a campaign instead of creating one, withdraw one, or wait for a review.",
    Code.WEBHOOK_LIMIT: "Delete a webhook first.",
    Code.SUBMISSION_LIMIT: "Wait until some of your submissions are reviewed.",
    Code.IDEMPOTENCY_CONFLICT: "Use a new idempotency key for a different body. A key is not shown again.",
    Code.INVALID_STATE: "Read the resource again. Its state does not allow this.",
    Code.CURSOR_EXPIRED: "Begin again without `cursor`. A mirror begins empty.",
    Code.PRECONDITION_FAILED: "Read the entry again. Send its present `ETag`, or no `If-Match` to replace whatever is there.",
    Code.PAYLOAD_TOO_LARGE: "Send a smaller body.",
    Code.UNSUPPORTED_MEDIA_TYPE: "Send JSON without `Content-Encoding`, to `/mcp` as `Content-Type: application/json`.",
    Code.RATE_LIMITED: "Wait as long as `Retry-After` says.",
    Code.INTERNAL_ERROR: "Try again later. If it lasts, report the `X-Request-Id` of the response.",
    Code.SERVICE_UNAVAILABLE: "Try again after `Retry-After`, a booking with the same `idempotencyKey`. Nothing was counted.",
}
"""The remedy of each code. Words in backticks are code."""

LONGEST_QUERY = 200
"""Characters of a query, at most."""
_WORD = re.compile(r"[^\W_]+")
_SHORT = 3
FILLERS = frozenset(("a", "an", "and", "for", "i", "in", "my", "of", "on", "the", "to"))
"""Words that count only in a query that has no others."""


@dataclass(frozen=True, slots=True)
class Row:
    """An operation or an error code. `label` is its method or status, `note` its path or remedy.

    `strong` and `weak` hold its words, each after a space: those of its name, and those of its description.
    """

    href: str
    label: str
    title: str
    note: str
    strong: str
    weak: str


@dataclass(frozen=True, slots=True)
class Problem:
    """An error code. `common`: most operations return it."""

    status: int
    code: str
    remedy: str
    common: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a response. `title` names its status, and its type if that is not JSON. `cut`: its lists are longer."""

    title: str
    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation. `types` are the media types of its success."""

    name: str
    group: "GroupName"
    method: str
    path: str
    summary: str
    description: str
    access: str
    needs: str
    admin: bool
    parameters: Sequence[Field]
    body: Sequence[Field]
    body_required: bool
    samples: Sequence[Sample]
    result: Sequence[Field]
    types: Sequence[str]
    answers: Sequence[Example]
    problems: Sequence[Problem]

    @property
    def href(self) -> str:
        return f"/docs/{self.name}"


@dataclass(frozen=True, slots=True)
class GroupName:
    """A tag: its name in the address of its page, its title and description."""

    slug: str
    title: str
    description: str

    @property
    def href(self) -> str:
        return f"/docs/{self.slug}"


@dataclass(frozen=True, slots=True)
class Group:
    """The operations of one tag."""

    name: GroupName
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Contents:
    """The whole reference: groups in the order of the document, all errors by status, and the rows of the search."""

    groups: Sequence[Group]
    problems: Sequence[Problem]
    version: str
    build: str

    @property
    def entries(self) -> list[Entry]:
        return [entry for group in self.groups for entry in group.entries]

    @property
    def rows(self) -> list[Row]:
        return [*map(_operation_row, self.entries), *map(_problem_row, self.problems)]


def read(document: Schema, base_url: str, cookie: str) -> Contents:
    """The contents of a document. `cookie` is the name of the session cookie at `base_url`."""
    counts = _Counts.of(document)
    names = {tag["name"]: _group_name(tag) for tag in document["tags"]}
    by_tag: dict[str, list[Entry]] = {tag: [] for tag in names}
    for (method, path), operation in _operations(document):
        tag = operation["tags"][0]
        call = call_of(document, method, base_url + path, operation, base_url, cookie)
        by_tag[tag].append(_entry(document, method, path, operation, names[tag], samples_of(call), counts))
    groups = [Group(names[tag], entries) for tag, entries in by_tag.items()]
    problems = [Problem(TABLE[code].status, str(code), REMEDIES[code], counts.is_common(code)) for code in Code]
    info = document["info"]
    ordered = sorted(problems, key=lambda problem: problem.status)
    return Contents(groups, ordered, str(info["version"]), str(info.get("x-build", "")))


@dataclass(frozen=True, slots=True)
class _Counts:
    """The number of operations that return each error code."""

    times: Counter[str]
    operations: int

    @classmethod
    def of(cls, document: Schema) -> "_Counts":
        operations = [operation for _, operation in _operations(document)]
        times = Counter(code for operation in operations for _, code in _codes(document, operation))
        return cls(times, len(operations))

    def is_common(self, code: str) -> bool:
        return self.times[code] * _COMMON >= self.operations


def _operations(document: Schema) -> Iterator[tuple[tuple[str, str], Schema]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method != "parameters":
                yield (method.upper(), path), operation


def group_slug(tag: str) -> str:
    """The name of a tag's group in the address of its page: `Scoped keys` is `scoped-keys`."""
    return re.sub(r"[^a-z0-9]+", "-", tag.lower())


def _group_name(tag: Schema) -> GroupName:
    return GroupName(group_slug(tag["name"]), tag["name"], str(tag.get("description", "")))


def _entry(
    document: Schema,
    method: str,
    path: str,
    operation: Schema,
    group: GroupName,
    samples: Sequence[Sample],
    counts: "_Counts",
) -> Entry:
    body = resolved(document, operation.get("requestBody", {}))
    media = body.get("content", {}).get("application/json", {})
    success = resolved(document, operation["responses"][_success_of(operation)])["content"]
    description = str(operation["description"])
    scopes = _SCOPES.search(description)
    same_origin = bool(operation.get("x-same-origin", False))
    access = access_of(operation["security"], scopes[1].replace(", ", " and ") if scopes else "", same_origin)
    parameters = [resolved(document, each) for each in operation.get("parameters", ())]
    problems = [
        Problem(status, code, REMEDIES[Code(code)], counts.is_common(code))
        for status, code in _codes(document, operation)
    ]
    return Entry(
        name=operation["operationId"],
        group=group,
        method=method,
        path=path,
        summary=operation["summary"],
        description=_SCOPES.sub("", description).replace(_ADMIN, ""),
        access=access.word,
        needs=access.sentence,
        admin=_ADMIN in description,
        parameters=[_parameter(document, each) for each in parameters],
        body=fields_of(document, media.get("schema", {})),
        body_required=body.get("required", False),
        samples=samples,
        result=fields_of(document, success.get("application/json", {}).get("schema", {})),
        types=list(success),
        answers=list(_answers(document, operation, counts)),
        problems=problems,
    )


def _parameter(document: Schema, parameter: Schema) -> Field:
    schema = resolved(document, parameter["schema"])
    description = str(parameter.get("description") or schema.get("description", ""))
    kind = kind_of(document, _present(schema))
    return Field(parameter["name"], kind, parameter.get("required", False), description, parameter["in"])


def _present(schema: Schema) -> Schema:
    """The schema of a parameter that is there. An empty one and `null` count as absent."""
    kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null" and one.get("maxLength") != 0]
    return kinds[0] if len(kinds) == 1 else schema


def _codes(document: Schema, operation: Schema) -> Iterator[tuple[int, str]]:
    """The statuses and codes of an operation's errors."""
    for status, response in operation["responses"].items():
        for code in resolved(document, response).get("x-error-codes", ()):
            yield int(status), code


def _success_of(operation: Schema) -> str:
    """The status of a success."""
    return str(min(operation["responses"]))


def _answers(document: Schema, operation: Schema, counts: "_Counts") -> Iterator[Example]:
    """The examples of a success, and one of a refusal: the one that the fewest operations return."""
    status = _success_of(operation)
    content = resolved(document, operation["responses"][status])["content"]
    for kind, media in content.items():
        title = f"Response, {status}" if kind == "application/json" else f"Response, {status}, {kind}"
        for value in examples_of(document, media)[:1]:
            yield _example(title, value)
    refusals = []
    for status, response in operation["responses"].items():
        if status.isdigit() and int(status) >= HTTPStatus.BAD_REQUEST:
            media = resolved(document, response).get("content", {}).get("application/json", {})
            refusals += [(f"Error, {status}", value) for value in examples_of(document, media)]
    if refusals:
        yield _example(*min(refusals, key=lambda each: counts.times[each[1]["error"]]))


def _example(title: str, value: Any) -> Example:
    text = value if isinstance(value, str) else _json(value)
    if len(text) <= LONGEST_EXAMPLE:
        return Example(title, text)
    if isinstance(value, str):
        return Example(title, text[:LONGEST_EXAMPLE].rpartition("\n")[0], cut=True)
    return Example(title, _json(_shortened(value)), cut=True)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _shortened(value: Any) -> Any:
    """The value with lists cut to their first item."""
    match value:
        case dict():
            return {name: _shortened(inner) for name, inner in value.items()}
        case list():
            return [_shortened(inner) for inner in value[:1]]
        case _:
            return value


def _operation_row(entry: Entry) -> Row:
    fields = [field.name for field in (*entry.parameters, *entry.body)]
    # Common errors have rows of their own, and would make most operations match "key".
    codes = [problem.code for problem in entry.problems if not problem.common]
    strong = words_of(entry.summary, entry.name, entry.method, entry.path, entry.group.title)
    scopes = re.findall(r"`(.*?)`", entry.needs)
    weak = words_of(entry.description, *scopes, *fields, *codes, *entry.types, beside=strong)
    return Row(entry.href, entry.method, entry.summary, entry.path, strong, weak)


def _problem_row(problem: Problem) -> Row:
    strong = words_of(problem.code, str(problem.status))
    weak = words_of(problem.remedy, beside=strong)
    return Row(f"/docs#{problem.code}", str(problem.status), problem.code, problem.remedy, strong, weak)


def words_of(*texts: str, beside: str = "") -> str:
    """The words of the texts in lower case, each once and after a space, without those that `beside` has as well."""
    words = dict.fromkeys(word for text in texts for word in _WORD.findall(text.lower()))
    return "".join(f" {word}" for word in words if word not in beside)


def search(rows: Sequence[Row], query: str) -> list[Row]:
    """The rows that have every word of the query, best first; if no row has, those that have most, but at least half.

    A word that begins one of a row's name counts 4, one within such a word 2, one of its description 1.
    """
    words = [_stem(word) for word in _WORD.findall(query.lower())]
    wanted = [word for word in words if word not in FILLERS] or words
    points = [[_points(row, word) for word in wanted] for row in rows]
    most = max((_matches(each) for each in points), default=0)
    if most == 0 or most * 2 < len(wanted):
        return []
    ranked = [(sum(each), row) for each, row in zip(points, rows, strict=True) if _matches(each) == most]
    return [row for _, row in sorted(ranked, key=lambda pair: -pair[0])]


def _stem(word: str) -> str:
    """The word without a plural `s`. Queries match parts of words, so a shorter word matches the longer one as well."""
    return word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith("ss") else word


def _points(row: Row, word: str) -> int:
    """The points of a row for a word of the query; 0 if the row does not have it."""
    if f" {word}" in row.strong:
        return 4
    if word in row.strong:
        return 2
    return 1 if word in row.weak else 0


def _matches(points: Sequence[int]) -> int:
    return sum(each > 0 for each in points)
