"""The sentences of errors at fields: every one that a form can show is plain, and none is missing."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import service.schemas
from actors.values import Code, Problem, Refused
from service.schemas.catalog import Bot, UseCase
from service.schemas.problems import problems_of
from service.web.pages.parts.forms import (
    ACCEPTING,
    FORMS,
    GONE,
    PAGE_PROBLEM,
    Field,
    Form,
    above,
    errors_above,
    errors_of,
    plain_message,
    query_errors,
    wrong,
)
from service.web.pages.parts.forms import sentence_of as sentence
from service.web.pages.parts.messages import BY_CODE, BY_MESSAGE, STALE_LIST, UNREADABLE, WRONG_ADDRESS
from service.web.pages.parts.page import BY_NAME
from service.web.pages.table import PAGES

ROOT = Path(__file__).parents[2]

OPERATIONS: Mapping[tuple[str, str], str] = {
    ("/sponsor/profile", "save"): "saveProfile",
    ("/sponsor/profile", "save-billing"): "saveBillingDetails",
    ("/sponsor/campaigns/new", "create"): "createCampaign",
    ("/sponsor/campaigns/{id}", "save"): "editCampaign",
    ("/sponsor/campaigns/{id}", "save-and-submit"): "editCampaign",
    ("/sponsor/book", "reserve"): "createBooking",
    ("/sponsor/book", "reserve-and-pay"): "createBooking",
    ("/sponsor/book", "start"): "startBooking",
    ("/sponsor/book", "start-and-pay"): "startBooking",
    ("/sponsor/bookings/{id}", "request_refund"): "requestRefund",
    ("/sponsor/bookings/{id}", "send_material"): "sendMaterial",
    ("/sponsor/bookings/{id}", "checkout"): "openCheckout",
    ("/checkout/{token}", "pay"): "payCheckout",
    ("/sponsor/webhooks", "create"): "createWebhook",
    ("/dashboard", "create-key"): "createScopedKey",
    ("/dashboard/keys/{id}", "edit-key"): "editAccountKey",
    ("/dashboard/keys/{id}", "rotate-key"): "rotateAccountKey",
    ("/dashboard/security", "add-passkey"): "addPasskey",
    ("/dashboard/security", "rename-passkey"): "editPasskey",
    ("/sign-in", "send"): "startSignIn",
    ("/sign-in", "complete"): "completeSignIn",
    ("/sign-in/link", "use"): "useSignInLink",
    ("/account/delete", "confirm"): "confirmAccountDeletion",
    ("/claim/form", "start"): "startClaim",
    ("/claim/form", "complete"): "completeClaim",
    ("/device", "look"): "getDeviceApproval",
    ("/device", "approve"): "decideDevice",
    ("/device", "deny"): "decideDevice",
    ("/oauth/authorize", "approve"): "decideAuthorization",
    ("/oauth/authorize", "deny"): "decideAuthorization",
    ("/admin/accounts/{id}", "set_tier"): "setAccountTier",
    ("/admin/accounts/{id}", "suspend"): "suspendAccount",
    ("/admin/accounts/{id}", "refund"): "refundAccount",
    ("/admin/bookings/{id}", "refund"): "refundBooking",
    ("/admin/bookings/{id}", "decline"): "declineRefund",
    ("/admin/bookings/{id}", "describe"): "describeVideo",
    ("/submissions/new", "send-usecases"): "submitEntry",
    ("/submissions/new", "send-bots"): "submitEntry",
    ("/admin/submissions", "accept"): "reviewSubmission",
    ("/admin/submissions", "decline"): "reviewSubmission",
    ("/admin", "approve"): "reviewCampaign",
    ("/admin", "reject"): "reviewCampaign",
    ("/admin", "pause"): "reviewCampaign",
    ("/admin", "resume"): "reviewCampaign",
    ("/admin", "refund"): "refundBooking",
    ("/admin", "decline"): "declineRefund",
    ("/admin/new-usecase", "create"): "putUseCase",
    ("/admin/new-usecase", "preview"): "previewUseCase",
    ("/admin/usecases/{slug}", "save"): "putUseCase",
    ("/admin/usecases/{slug}", "preview"): "previewUseCase",
    ("/admin/new-bot", "create"): "putBot",
    ("/admin/new-bot", "preview"): "previewBot",
    ("/admin/bots/{slug}", "save"): "putBot",
    ("/admin/bots/{slug}", "preview"): "previewBot",
    ("/admin/slots/new", "create"): "createSlot",
    ("/admin/slots/{id}", "save"): "editSlot",
}
"""The operation behind each form that declares its fields."""

ENTRIES: Mapping[tuple[str, str], type[BaseModel]] = {
    ("/submissions/new", "send-usecases"): UseCase,
    ("/submissions/new", "send-bots"): Bot,
}
"""The models of the entries that forms send within the body of their operation."""

UNTYPED = {
    *(
        "slotId",
        "idempotencyKey",
        "seen",
        "decision",
        "admin",
        "credential",
        "userCode",
        "request",
        "ticket",
        "scopes",
        "claimToken",
        "email",
        "token",
    ),
    *("slug", "addedAt", "updatedAt", "guide"),
}
"""Properties that a form sends without a field of its own, or that its first step has asked for."""

UNSENT = {(("/admin", "refund"), "reason")}
"""Properties that a form never sends."""

BAD: tuple[Any, ...] = (
    *(None, "", " ", "x", "x" * 3_000, "a\nb", "\u200b", "a\u200bb", " a", "a  b", "A!", 0, -1, 10**30, 1.5, True),
    *(
        "javascript:alert(1)",
        "https://localhost/",
        "https://a b.example",
        "https://user:pass@example.com/",
        "https://a%zz.example",
    ),
    *("https://example.com:99999/", "https://[::1]/", "https://example.com\\x", "https:///x", "https://exa_mple.com/%"),
    *(f"https://example.com/{'é' * 900}", [], ["x"], ["booking.paid"] * 2, ["x"] * 9, {}, "no address", "x@", "=?x?="),
)
TECHNICAL = re.compile(r"String should|Input should|\bmust\b|pattern|UTF-8|JSON|[a-z][A-Z]|\bproperty\b|\{|\}")


def _models(place: tuple[str, str]) -> Iterator[Any]:
    operation = BY_NAME[OPERATIONS[place]]
    if place in ENTRIES:
        yield ENTRIES[place]
    elif operation.body is not None:
        yield operation.body
    if operation.query is not None:
        yield operation.query


def _raised(model: Any, values: Mapping[str, Any]) -> tuple[Problem, ...]:
    try:
        model.model_validate_json(json.dumps(values))
    except ValidationError as error:
        return problems_of(error)
    return ()


def _forms() -> Mapping[tuple[str, str], Form]:
    return {(page.path, do): form for page in PAGES for do, form in page.forms.items() if page.path != "/admin/reviews"}


def test_each_form_that_declares_fields_is_known_here() -> None:
    assert _forms().keys() == OPERATIONS.keys()


@pytest.mark.parametrize("place", OPERATIONS)
def test_every_bad_value_of_every_field_has_a_plain_sentence(place: tuple[str, str]) -> None:
    form = _forms()[place]
    sentences = set()
    for model in _models(place):
        for name in model.model_fields:
            problems = [each for bad in BAD for each in _raised(model, {name: bad}) if each.field.split(".")[0] == name]
            problems += [each for each in _raised(model, {}) if each.field == name]
            placed = [each for each in problems if form.name_of(each) is not None]
            has_field = placed == problems or name in UNTYPED or (place, name) in UNSENT
            assert has_field, f"{name} has no field in the form"
            for each in placed:
                field = form.fields[form.name_of(each) or ""]
                sentences |= {sentence(each, field, typed) for typed in ("", "typed")}
    assert sentences or place == ("/admin", "refund") or form is ACCEPTING
    for words in sentences:
        assert not TECHNICAL.search(words.replace("https://, not http://", "")), words
        assert words.endswith(".")
        assert words != "This cannot be used as it is. Change it.", "a kind of error has no sentence"


def _literals(path: Path, call: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == call:
            yield node


def test_every_message_that_a_model_raises_itself_has_a_sentence() -> None:
    folder = Path(service.schemas.__file__).parent
    messages = set()
    for path in folder.glob("*.py"):
        module = import_module(f"service.schemas.{path.stem}")
        for node in _literals(path, "ValueError"):
            [word] = node.args
            code = compile(ast.Expression(word), str(path), "eval")
            messages.add(eval(code, vars(module)))
    elsewhere = {each for each in messages if "grant-type" in each or "KiB" in each}
    assert len(elsewhere) == 2, "the grant of a device and the size of a document are in no form"
    assert messages - elsewhere <= BY_MESSAGE.keys()


def test_every_problem_that_the_code_names_itself_has_a_sentence() -> None:
    codes = set()
    for folder in ("actors", "service/api/operations", "service/schemas"):
        for path in (ROOT / folder).rglob("*.py"):
            for call in ("Problem", "invalid_field"):
                codes |= {
                    node.args[1].value for node in _literals(path, call) if isinstance(node.args[1], ast.Constant)
                }
    in_no_form = {"cursor", "unknown_booking", "too_many_problems", "any", "both", "etag", "mismatch"}
    in_no_form |= {"not_allowed", "invalid_address"}  # of the clients that relays name
    empty_field = {"missing", "value_error"}
    assert codes - in_no_form - empty_field <= BY_CODE.keys() | FORMS


HEADLINE = Field("Headline", "Write a headline.")
PRICE = Field("Price", "Write a price.", right="Write an amount from 0.50.")


@pytest.mark.parametrize(
    ("problem", "field", "typed", "words"),
    [
        (Problem("headline", "string_too_short", "", 1), HEADLINE, "  ", "Write a headline."),
        (Problem("headline", "missing", ""), HEADLINE, "", "Write a headline."),
        (
            Problem("headline", "string_too_long", "", 55),
            HEADLINE,
            "x" * 61,
            "This has 61 characters. Shorten it by 6.",
        ),
        (Problem("headline", "string_too_long", "", 1), HEADLINE, "ab", "This has 2 characters. Shorten it by 1."),
        (
            Problem("headline", "string_too_long", "", 3_000),
            HEADLINE,
            "x" * 4_200,
            "This has 4,200 characters. Shorten it by 1,200.",
        ),
        (Problem("headline", "string_too_long", "", 55), HEADLINE, "short", "Use at most 55 characters."),
        (Problem("headline", "string_too_short", "", 4), HEADLINE, "a", "This has 1 character. Write at least 4."),
        (Problem("headline", "value_error", "must be on one line"), HEADLINE, "a", "Write it on one line."),
        (Problem("price", "greater_than_equal", "", 50), PRICE, "0.10", "Write an amount from 0.50."),
        (Problem("price", "greater_than_equal", "", 50), Field("Price"), "0", "Write 50 or more."),
        (Problem("price", "int_type", ""), PRICE, "cheap", "Write an amount from 0.50."),
        (Problem("price", "value_error", "must be a whole number"), PRICE, "cheap", "Write an amount from 0.50."),
        (Problem("price", "value_error", "must be a whole number"), Field("Price"), "cheap", "Write a whole number."),
        (Problem("price", "int_type", ""), Field("Price"), "cheap", "Write a whole number."),
        (Problem("price", "too_expensive", ""), PRICE, "5", BY_CODE["too_expensive"]),
        (Problem("price", "of a kind to come", ""), PRICE, "5", "Write an amount from 0.50."),
        (Problem("price", "of a kind to come", ""), Field("Price"), "5", "This cannot be used as it is. Change it."),
    ],
)
def test_a_sentence_says_what_is_wrong_and_what_to_do(problem: Problem, field: Field, typed: str, words: str) -> None:
    assert sentence(problem, field, typed) == words


def _refused(*problems: Problem) -> Refused:
    return Refused(Code.INVALID_REQUEST, "The body is not valid", problems=problems)


def test_signs_are_counted_without_the_space_around_and_line_ends_once() -> None:
    problem = Problem("reason", "string_too_long", "", 4)
    assert sentence(problem, Field("Reason"), " a\r\nb\U0001f680cd ") == "This has 6 characters. Shorten it by 2."


def test_errors_stand_in_the_order_of_the_form_with_links_and_without_a_sentence_above() -> None:
    form = Form({"name": Field("Brand", "Write it."), "website": Field("Website", of="url")})
    shown = errors_of(_refused(Problem("url", "missing", ""), Problem("name", "missing", "")), form, {})
    assert list(shown["errors"].items()) == [("name", "Write it."), ("website", "Fill this in.")]
    assert shown["error_links"] == [("name", "Brand", "Write it."), ("website", "Website", "Fill this in.")]
    assert shown["problem"] is None


def test_a_problem_within_a_list_stands_at_its_field_and_only_the_first_of_a_field_is_said() -> None:
    form = Form({"events": Field("Events", "Choose one.")})
    problems = Problem("events.3", "literal_error", ""), Problem("events.4", "missing", "")
    assert errors_of(_refused(*problems), form, {"events": "x"})["errors"] == {"events": "Choose one of the options."}


def test_a_problem_without_a_field_stands_above_without_the_words_of_the_api() -> None:
    shown = errors_of(
        _refused(Problem("slotId", "string_too_long", "must have at most 100 characters", 100)), Form({}), {}
    )
    assert (shown["problem"], shown["errors"]) == (UNREADABLE, {})
    nothing = Refused(Code.INVALID_REQUEST, "x", problems=(Problem("", "value_error", "must have at least one field"),))
    assert errors_of(nothing, Form({}), {})["problem"] == "Nothing was changed."


def test_a_refusal_can_be_about_a_field() -> None:
    form = Form(
        {"code": Field("Code")}, {Code.INVALID_CODE: ("code", ""), Code.NOT_FOUND: ("code", "Say it otherwise.")}
    )
    assert errors_of(Refused(Code.INVALID_CODE, "It is wrong."), form, {})["errors"] == {"code": "It is wrong."}
    assert errors_of(Refused(Code.NOT_FOUND, "None."), form, {})["errors"] == {"code": "Say it otherwise."}
    other = errors_of(Refused(Code.RATE_LIMITED, "Wait."), form, {})
    assert (other["problem"], other["errors"]) == ("Wait.", {})
    assert errors_of(above(Code.NOT_FOUND, "Above."), form, {})["problem"] == "Above."


def test_a_page_names_fields_of_its_form_itself() -> None:
    form = Form({"scopes": Field("It can", of="scopes"), "days": Field("Expires", of="expiresAt")})
    refused = wrong(days="Choose an end.", scopes="Choose what it can do.")
    assert [each.code for each in refused.problems] == [PAGE_PROBLEM, PAGE_PROBLEM]
    assert list(errors_of(refused, form, {})["errors"]) == ["scopes", "days"]


def test_a_form_that_a_page_repeats_has_its_error_in_the_one_that_was_sent() -> None:
    form = Form({"note": Field("Note", "Write it.", id="note-{campaign}")})
    typed = {"campaign": "cmp_1", "note": ""}
    assert errors_of(wrong(note="Write it."), form, typed)["errors"] == {"note-cmp_1": "Write it."}


def test_typed_values_that_name_one_another_stay_as_short_as_they_were_typed() -> None:
    form = Form({"note": Field("Note", "Write it.", id="note-{campaign}")})
    typed = {"campaign": "{a}" * 10, "a": "{b}" * 10, "b": "{note}" * 10, "note": ""}
    assert list(errors_of(wrong(note="Write it."), form, typed)["errors"]) == ["note-" + "{a}" * 10]


def test_an_error_whose_form_is_not_on_the_page_any_more_is_told_above() -> None:
    form = Form({"note": Field("Note", id='note-{"campaign"}'), "sure": Field("Sure")})
    values = errors_of(wrong(note="Write it.", sure="Tick it."), form, {})
    sure, note = '<p id="sure-error">', '<p id="note-{&#34;campaign&#34;}-error">'
    assert errors_above(values, sure + note) is None
    assert errors_above(values, sure) == {
        "problem": GONE,
        "errors": {"sure": "Tick it."},
        "error_links": [("sure", "Sure", "Tick it.")],
    }


def test_a_query_shows_its_errors_and_what_was_typed() -> None:
    form = Form({"from": Field("First day", right="Write a date.")})
    refused = Refused(Code.INVALID_REQUEST, "`from` must not.", problems=(Problem("from", "period", "must not"),))
    assert query_errors(refused, form, {"from": "x"}) == {
        "problem": None,
        "errors": {"from": "Write a date."},
        "error_links": [("from", "First day", "Write a date.")],
        "form": {"from": "x"},
    }


def test_a_value_that_no_field_sets_has_its_sentence_above() -> None:
    form = Form({}, unseen={"status": "Choose a state."})
    refused = _refused(Problem("status", "literal_error", "must be one of"))
    assert errors_of(refused, form, {})["problem"] == "Choose a state."


def test_a_refused_page_is_explained_without_the_words_of_the_api() -> None:
    assert plain_message(Refused(Code.NOT_FOUND, "There is no such slot.")) == "There is no such slot."
    assert plain_message(_refused(Problem("cursor", "cursor", "must be"))) == STALE_LIST
    assert plain_message(_refused(Problem("days", "int_parsing", "must be"))) == WRONG_ADDRESS


def test_a_problem_carries_the_limit_that_was_broken() -> None:
    [problem] = _raised(BY_NAME["saveProfile"].body, {"name": "x" * 101, "website": "https://example.com"})
    assert (problem.code, problem.bound) == ("string_too_long", 100)
    [missing] = _raised(BY_NAME["saveProfile"].body, {"name": "x"})
    assert missing.bound is None
