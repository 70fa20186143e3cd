"""Code samples: each language can be read by its own reader and sends what the call says."""

import ast
import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.web.reference.contents import read
from service.web.reference.samples import NOTHING, Call, Header, curl, python, samples_of, typescript
from tests.api.conformity import BASE_URL, DOCUMENT

CONTENTS = read(DOCUMENT, BASE_URL, "__Host-session")
KEY = Header("Authorization", "Bearer ", "KEY")
URL = "https://catalog.example.com/api/v1/usage"
PRINTED = (
    "answer = response.json()\n"
    "if response.is_error:\n"
    "    raise RuntimeError(f\"{answer['error']}: {answer['message']}\")\n"
    "print(answer)"
)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def test_curl_reads_as_people_write_it() -> None:
    assert curl(Call("GET", URL)) == f"curl '{URL}'"
    call = Call("POST", URL, [KEY, Header("Origin", "https://example.com")], {"name": "It's"})
    assert curl(call) == (
        f"curl -X POST '{URL}' \\\n"
        '  -H "Authorization: Bearer $KEY" \\\n'
        "  -H 'Origin: https://example.com' \\\n"
        "  -H 'Content-Type: application/json' \\\n"
        "  -d '{\n  \"name\": \"It'\\''s\"\n}'"
    )


def test_python_reads_as_people_write_it() -> None:
    assert python(Call("GET", URL)) == (f'import httpx\n\nresponse = httpx.get("{URL}")\n{PRINTED}')
    assert python(Call("PATCH", URL, [KEY], {"reports": False, "names": ["a"], "none": []})) == (
        "import os\n\nimport httpx\n\n"
        "response = httpx.patch(\n"
        f'    "{URL}",\n'
        '    headers={\n        "Authorization": "Bearer " + os.environ["KEY"],\n    },\n'
        '    json={\n        "reports": False,\n        "names": [\n            "a",\n        ],\n'
        '        "none": [],\n    },\n'
        f")\n{PRINTED}"
    )
    assert 'httpx.request(\n    "DELETE",' in python(Call("DELETE", URL, body={}))


def test_typescript_reads_as_people_write_it() -> None:
    rest = (
        "const answer = await response.json();\n"
        "if (!response.ok) throw new Error(`${answer.error}: ${answer.message}`);\n"
        "console.log(answer);"
    )
    assert typescript(Call("GET", URL)) == f'const response = await fetch("{URL}");\n{rest}'
    assert typescript(Call("POST", URL, [KEY], {"a-b": None, "c": 1})) == (
        f'const response = await fetch("{URL}", {{\n'
        '  method: "POST",\n'
        "  headers: {\n    Authorization: `Bearer ${process.env.KEY}`,\n"
        '    "Content-Type": "application/json",\n  },\n'
        '  body: JSON.stringify({\n    "a-b": null,\n    c: 1,\n  }),\n'
        f"}});\n{rest}"
    )


@given(body=values)
def test_a_body_of_any_kind_arrives_as_it_is(body: Any) -> None:
    words = shlex.split(curl(Call("POST", URL, body=body)).replace("\\\n", ""))
    assert json.loads(words[-1]) == body
    [sent] = [
        node
        for node in ast.walk(ast.parse(python(Call("POST", URL, body=body))))
        if isinstance(node, ast.keyword) and node.arg == "json"
    ]
    assert ast.literal_eval(sent.value) == body


@given(value=texts)
def test_no_header_runs_a_command_of_its_own(value: str) -> None:
    for header in (Header("Name", value), Header("Name", value, "KEY")):
        words = shlex.split(curl(Call("GET", URL, [header])).replace("\\\n", ""))
        assert words[:-1] == ["curl", URL, "-H"]


@pytest.mark.parametrize("entry", CONTENTS.entries, ids=lambda entry: entry.name)
def test_each_operation_has_code_that_can_be_read_and_names_its_address(entry: Any) -> None:
    codes = {sample.id: sample.code for sample in entry.samples}
    assert codes.keys() == {"curl", "python", "typescript"}
    compile(codes["python"], entry.name, "exec")
    words = shlex.split(codes["curl"].replace("\\\n", ""))
    address = words[3] if words[1] == "-X" else words[1]
    assert "{" not in address
    assert address.startswith(f"{BASE_URL}{entry.path.partition('{')[0]}")
    for code in codes.values():
        assert json.dumps(address)[1:-1] in code
    needed = {"key or sign-in": "KEY", "sign-in required": "SESSION"}.get(entry.access)
    for code in codes.values():
        assert [name for name in ("KEY", "SESSION") if name in code.replace("API_KEY", "")] == (
            [needed] if needed else []
        )


def test_a_call_without_a_body_sends_none() -> None:
    assert all("ontent-" not in sample.code for sample in samples_of(Call("POST", URL, body=NOTHING)))
