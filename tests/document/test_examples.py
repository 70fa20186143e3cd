"""The examples of the document: recorded from the real application, complete, and valid."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from actors.values import Code
from service.api.errors import TABLE, Family
from service.api.openapi.examples import FILE, examples
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.api.policy import Access
from tests.api.conformity import DOCUMENT, validator
from tests.document.recorder import record, text_of
from tests.document.stories import STORIES

AGAIN = "To record it, extend the stories in tests/document if they do not reach it yet, and run `make examples`."


def media_of(operation: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
    """The status and the JSON media type of each response with a body."""
    for status, response in DOCUMENT["paths"][operation.path][operation.method.lower()]["responses"].items():
        if "content" in response:
            yield status, response["content"]["application/json"]


async def test_the_examples_are_what_the_service_returns() -> None:
    recorded = text_of(await record(STORIES))
    assert recorded == FILE.read_text(encoding="utf-8"), f"{FILE.name} is out of date. {AGAIN}"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_has_an_example_of_its_success_and_of_each_refusal(operation: Operation) -> None:
    for status, media in media_of(operation):
        if status == "200":
            assert "example" in media, f"{operation.name} has no example of its success. {AGAIN}"
            continue
        codes = {str(code) for code in operation.all_codes if TABLE[code].status == int(status)}
        missing = codes - media.get("examples", {}).keys()
        assert not missing, f"{operation.name} has no example of {', '.join(sorted(missing))}. {AGAIN}"
    for code in operation.codes:
        own = examples().own_of(operation.name, code)
        assert own is not None, f"{operation.name} itself has not been seen to answer {code}. {AGAIN}"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_example_is_valid_and_has_its_code(operation: Operation) -> None:
    place = (
        f"/paths/{operation.path.replace('/', '~1').replace('{', '%7B').replace('}', '%7D')}/{operation.method.lower()}"
    )
    for status, media in media_of(operation):
        check = validator(f"{place}/responses/{status}/content/application~1json/schema")
        if "example" in media:
            check.validate(media["example"])
        for code, example in media.get("examples", {}).items():
            body = _resolved(example)["value"]
            check.validate(body)
            assert body["error"] == code
            assert TABLE[Code(code)].status == int(status)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_example_of_a_refusal_can_happen_at_its_operation(operation: Operation) -> None:
    """Operations share the example of a refusal only if they return the same one."""
    shown = {
        code: _resolved(example)["value"]["message"]
        for _, media in media_of(operation)
        for code, example in media.get("examples", {}).items()
    }
    if operation.scopes:
        assert f": {', '.join(operation.scopes)}." in shown["insufficient_scope"]
    if operation.access is Access.SESSION:
        assert "API key" not in shown["unauthorized"]
    if "forbidden" in shown and operation.codes.count(Code.FORBIDDEN) == 0:
        assert ("Only administrators" in shown["forbidden"]) == operation.admin
    if not operation.metered:
        assert "of today" not in shown.get("rate_limited", "")


def _resolved(example: dict[str, Any]) -> Any:
    if "$ref" not in example:
        return example
    return DOCUMENT["components"]["examples"][example["$ref"].removeprefix("#/components/examples/")]


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS if each.spreadsheet], ids=lambda operation: operation.name
)
def test_a_file_has_a_header_and_a_row(operation: Operation) -> None:
    file = examples().file(operation.name)
    assert file is not None, f"{operation.name} has no example of its file. {AGAIN}"
    header, *rows = csv.reader(io.StringIO(file))
    assert rows
    assert {len(row) for row in rows} == {len(header)}


def test_every_shared_example_is_used_by_its_family() -> None:
    text = str(DOCUMENT["paths"])
    names = {name.partition(".")[0] for name in DOCUMENT["components"]["examples"]}
    assert names == {"CatalogError", "SponsorshipError", "DeviceError"}
    assert len(names) == len(Family)
    for name in DOCUMENT["components"]["examples"]:
        assert f"'#/components/examples/{name}'" in text, name


def test_no_example_holds_more_than_the_tests_world() -> None:
    """Addresses are reserved for examples, and links lead to the service of the tests."""
    text = FILE.read_text(encoding="utf-8")
    for address in set(_addresses(text)):
        host = address.partition("//")[2].partition("/")[0].partition(":")[0].partition('"')[0].partition(",")[0]
        assert host.endswith((".test", "example.com", "example.org", "localhost")) or host.startswith("192.0.2."), host


def _addresses(text: str) -> Iterator[str]:
    for part in text.split("http")[1:]:
        if part.startswith(("://", "s://")):
            yield part
