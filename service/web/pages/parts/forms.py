"""The errors of a refused form, each at its field and in plain words. Pure.

A page declares its forms as `Form`s: the label of each field, and what to write into it. The page pipeline turns the refusal
of a form into these values of the template, which every page has:

- `errors`: the sentence of each wrong field by the id of its element, in the order of the form. The id is the field's name,
  except in forms that a page repeats. The first field has the focus (`autofocus`, set by the macros of `fields.html`).
- `error_links`: id, label and sentence of each of them, for the note above the form if there is more than one.
- `problem`: the sentence above the form if something is wrong that stands at no field, otherwise None.
- `again`: the value of `do` of the refused form, otherwise empty. A page with several forms keeps the values of this one.
- `form`: the values as they were typed.

A page with a form that is a query has its errors by `query_errors`; lists with filters use it through `filters`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from markupsafe import escape

from actors.clock import SECOND_MS
from actors.shared.dates import calendar
from actors.values import Code, Problem, Refused
from service.web.pages.parts.messages import BY_CODE, BY_MESSAGE, STALE_LIST, UNREADABLE, WHOLE, WRONG_ADDRESS
from service.web.pages.parts.words import counted

PAGE_PROBLEM = "page_problem"
"""The code of a problem that a page found itself: its field is that of the form, and its message a sentence."""

FILL_IN = "Fill this in."
UNUSABLE = "This cannot be used as it is. Change it."
GONE = "What this form was for has changed in the meantime. Nothing was saved. Look at the page as it is now."
FORMS = frozenset({"string_pattern_mismatch", "string_too_short", "period", "greater_than_equal", "less_than_equal"})
"""Codes for which what to write (`Field.right`) is the better sentence. So are those of whole numbers."""

_VALUE = re.compile(r"\{(\w+)\}")
"""A value of the form in the id of a field."""

_AMOUNT = re.compile(r"(\d{1,9}|\d{1,3}(?:,\d{3}){1,2})(?:\.(\d{1,2}))?")
_HAS_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)
"""An address with a scheme, such as `http:` or `mailto:`. Digits after the colon are a port."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    `empty` is the error if nothing was written or chosen, `right` says what to write, if that is more than text. `of` is the
    property of the operation where it differs from the name. `id` is the id of the element where it differs from the name:
    forms that a page repeats have values of the form in it, such as `note-{campaign}`.
    """

    label: str
    empty: str = FILL_IN
    right: str = ""
    of: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form by their names, in the order of the page. `codes` has the field that a refusal is about, and the
    sentence to show there; if it is empty, the refusal's own message is shown. `unseen` has the sentences for properties that
    no field of the page sets, such as a filter that is a link."""

    fields: Mapping[str, Field]
    codes: Mapping[Code, tuple[str, str]] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, problem: Problem) -> str | None:
        """The field of the form that a problem of the operation is about."""
        if problem.code == PAGE_PROBLEM:
            return problem.field if problem.field in self.fields else None
        top = problem.field.partition(".")[0]
        for path in (problem.field, top):
            for name, each in self.fields.items():
                if (each.of or name) == path:
                    return name
        return None


NOTHING = Form({})

TERMS = {"terms": Field("Terms")}
"""The place of the terms in a form that accepts them (`terms` in `fields.html`)."""

ACCEPTING = Form(TERMS)
"""A form that accepts the terms and has no other field."""


def wrong(**sentences: str) -> Refused:
    """A refusal by the page itself: the sentence for each field of the form."""
    problems = tuple(Problem(name, PAGE_PROBLEM, words) for name, words in sentences.items())
    return Refused(Code.INVALID_REQUEST, problems[0].message, problems=problems)


def above(code: Code, sentence: str) -> Refused:
    """A refusal by the page itself that stands above the form, whatever the form says about its code."""
    return Refused(code, sentence, problems=(Problem("", PAGE_PROBLEM, sentence),))


def errors_of(refused: Refused, form: Form, typed: Mapping[str, str]) -> dict[str, Any]:
    """The values `errors`, `error_links` and `problem` of a refused form."""
    found: dict[str, str] = {}
    problem = None if refused.problems else refused.message
    for each in refused.problems:
        name = form.name_of(each)
        if name is None:
            problem = form.unseen.get(each.field) or _above(each)
        else:
            found.setdefault(name, sentence_of(each, form.fields[name], typed.get(name, "")))
    if not refused.problems and refused.code in form.codes:
        name, words = form.codes[refused.code]
        found, problem = {name: words or refused.message}, None
    return {"problem": problem, **_placed(found, form, typed)}


def query_errors(refused: Refused, form: Form, query: Mapping[str, str]) -> dict[str, Any]:
    """The same for a form that is sent as a query. Also `form`, the typed values."""
    return {**errors_of(refused, form, query), "form": query}


def errors_above(values: Mapping[str, Any], html: str) -> dict[str, Any] | None:
    """The values of a refused form if `html`, the page that was made of `values`, has no place for an error, because the form
    is not on it any more: a sentence above stands for such errors. None if every error is on the page."""
    lost = {place for place in values["errors"] if f'id="{escape(place)}-error"' not in html}
    if not lost:
        return None
    return {
        **values,
        "problem": values["problem"] or GONE,
        "errors": {place: words for place, words in values["errors"].items() if place not in lost},
        "error_links": [link for link in values["error_links"] if link[0] not in lost],
    }


def plain_message(refused: Refused) -> str:
    """The message of a refused page without the words of the API. What is wrong with its query is wrong with its address."""
    if not refused.problems:
        return refused.message
    return STALE_LIST if any(each.code == "cursor" for each in refused.problems) else WRONG_ADDRESS


def in_one_line(refused: Refused, form: Form, query: Mapping[str, str]) -> str:
    """The errors of a query whose fields have no place for them: `Search: This has 201 characters. Shorten it by 1.`"""
    found = errors_of(refused, form, query)
    if not found["error_links"]:
        return plain_message(refused)
    return " ".join(f"{label}: {sentence}" for _, label, sentence in found["error_links"])


def sentence_of(problem: Problem, field: Field, typed: str) -> str:
    """The sentence about a wrong field, with what to do. `typed` is its text."""
    code, written = problem.code, typed.replace("\r\n", "\n").strip()
    if code == PAGE_PROBLEM:
        return problem.message
    if not written or code in ("missing", "too_short"):
        return field.empty
    if code == "string_too_long" and problem.bound is not None:
        return _too_long(len(written), problem.bound)
    if field.right and (code in FORMS or code.startswith("int_")):
        return field.right
    if code == "string_too_short":
        return f"This has {counted(len(written), 'character')}. Write at least {problem.bound}."
    if code == "value_error":
        words = BY_MESSAGE.get(problem.message)
        return field.right or WHOLE if words == WHOLE else words or field.right or UNUSABLE
    return BY_CODE.get(code, field.right or UNUSABLE).format(bound=problem.bound)


def _placed(found: Mapping[str, str], form: Form, typed: Mapping[str, str]) -> dict[str, Any]:
    """`errors` and `error_links`, in the order of the form."""
    links: Sequence[tuple[str, str, str]] = [
        (_id(name, each, typed), each.label, found[name]) for name, each in form.fields.items() if name in found
    ]
    return {"errors": {place: words for place, _, words in links}, "error_links": links}


def _id(name: str, field: Field, typed: Mapping[str, str]) -> str:
    # Typed values are not filled in again: values that name one another would grow without bound.
    return _VALUE.sub(lambda found: typed.get(found[1], found[0]), field.id or name)


def _above(problem: Problem) -> str:
    """The sentence for a problem that stands at no field of the form."""
    if problem.code == PAGE_PROBLEM:
        return problem.message
    return BY_MESSAGE.get(problem.message, UNREADABLE) if not problem.field else UNREADABLE


def _too_long(count: int, most: int) -> str:
    if count <= most:
        return f"Use at most {counted(most, 'character')}."
    return f"This has {counted(count, 'character')}. Shorten it by {count - most:,}."


def cents_of(text: str) -> int | None:
    """Cents of `120`, `120.5` or `1,250.00`."""
    found = _AMOUNT.fullmatch(text.strip()) if text.isascii() else None
    if found is None:
        return None
    return int(found[1].replace(",", "")) * 100 + int((found[2] or "").ljust(2, "0"))


def amount_of(cents: int) -> str:
    """Cents as text: `120.00`."""
    return f"{cents // 100}.{cents % 100:02}"


def moment_of(text: str) -> int | None:
    """Epoch milliseconds of a date and time as browsers send it (`2026-11-20T12:00`), read as UTC."""
    if not text.isascii() or not _MOMENT.fullmatch(text):
        return None
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND_MS
    except ValueError:
        return None


def day_ms_of(text: str) -> int | None:
    """Epoch milliseconds of the start of a date (`2026-11-30`), UTC."""
    return moment_of(f"{text}T00:00")


def moment_text(moment_ms: int) -> str:
    """Epoch milliseconds as text. Seconds appear only if they are not zero. A moment that the calendar does not reach is its
    last one."""
    when = calendar(moment_ms)
    return f"{when:%Y-%m-%dT%H:%M}" + (f":{when:%S}" if when.second else "")


def whole_of(text: str) -> int | None:
    """A whole number of at most six digits."""
    return int(text) if text.isascii() and text.strip().isdigit() and len(text.strip()) < 7 else None


def text_of(form: Mapping[str, str], name: str) -> str | None:
    """The text of a field without surrounding space and with `\\n` as line end; None if it is empty."""
    return form.get(name, "").replace("\r\n", "\n").strip() or None


def address_of(form: Mapping[str, str], name: str) -> str:
    """A typed web address with `https://` in front where it has no scheme: `tools.example.com` becomes
    `https://tools.example.com`. Anything else stays as it is, and the operation refuses it."""
    text = form.get(name, "").strip()
    if not text or _HAS_SCHEME.match(text):
        return text
    return f"https://{text.removeprefix('//')}"


def line_of(form: Mapping[str, str], name: str) -> str:
    """The text of a field that stands on one line, without surrounding space. Line ends become spaces."""
    lines = (line.strip() for line in form.get(name, "").split("\n"))
    return " ".join(line for line in lines if line)
