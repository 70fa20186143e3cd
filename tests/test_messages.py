"""All validation messages are the project's own."""

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from actors.values import Refused
from service.api.operations import OPERATIONS
from service.api.validation import parse_body
from service.schemas.keys import ClaimStart
from service.schemas.problems import MESSAGES, OURS, UNKNOWN, problems_of, text_of

WRONG: tuple[object, ...] = (None, True, -1, 1.5, 10**30, "", "\n", "x" * 3_000, "\ud800", [], [1] * 600, {}, {"x": 1})
"""Values of which each type of field rejects some."""

MODELS = sorted({each for row in OPERATIONS for each in (row.body, row.query) if each is not None}, key=str)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_each_problem_of_a_model_has_a_message_of_our_own(model: type[BaseModel]) -> None:
    for value in WRONG:
        for wrong in (value, dict.fromkeys(model.model_fields, value), {"unknown": value}):
            try:
                model.model_validate(wrong)
            except ValidationError as error:
                _check(error)


def _check(error: ValidationError) -> None:
    details = error.errors(include_url=False)
    for problem, detail in zip(problems_of(error), details, strict=True):
        assert detail["type"] in MESSAGES or detail["type"] in OURS, detail["type"]
        assert problem.message != UNKNOWN
        assert detail["type"] in OURS or problem.message != detail["msg"]


def test_a_broken_json_text_is_reported_with_its_place() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(dict[str, int]).validate_json('{"a": }')
    assert text_of(problems_of(caught.value)).startswith("is not valid JSON: ")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "The body is empty. Send a JSON object."),
        (b"email=ann", "The body is not valid JSON: "),
        (b"[]", "The body is not valid"),
    ],
)
def test_a_body_that_is_no_object_is_refused_in_a_whole_sentence(body: bytes, words: str) -> None:
    refused = parse_body(ClaimStart, body, optional=False)
    assert isinstance(refused, Refused)
    assert refused.message.startswith(words)
