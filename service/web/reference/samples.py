"""Writes a request as code: curl, Python with httpx, and TypeScript with fetch. Pure."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
"""A key that needs no quotes in TypeScript."""

NOTHING = object()
"""The body of a request without one; None would be the JSON `null`."""


@dataclass(frozen=True, slots=True)
class Header:
    """A header. Its value is `value`, followed by that of the environment variable `variable` if there is one."""

    name: str
    value: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A request: the whole URL, headers beside the content type, and a body to be sent as JSON."""

    method: str
    url: str
    headers: Sequence[Header] = ()
    body: Any = NOTHING


@dataclass(frozen=True, slots=True)
class Sample:
    """The code of a call in a language. `id` names the language in ids and in the choice of a reader."""

    id: str
    language: str
    code: str


def samples_of(call: Call) -> list[Sample]:
    return [Sample(id, language, write(call)) for id, language, write in LANGUAGES]


def curl(call: Call) -> str:
    """A command for a POSIX shell. It reads secrets from environment variables."""
    method = "" if call.method == "GET" else f"-X {call.method} "
    lines = [f"curl {method}{_shell(call.url)}"]
    lines += [f"-H {_shell_header(header)}" for header in call.headers]
    if call.body is not NOTHING:
        lines += ["-H 'Content-Type: application/json'", f"-d {_shell(_json(call.body))}"]
    return " \\\n  ".join(lines)


def _shell(text: str) -> str:
    """The text in single quotes, where a shell interprets nothing."""
    return "'" + text.replace("'", "'\\''") + "'"


def _shell_header(header: Header) -> str:
    text = f"{header.name}: {header.value}"
    if not header.variable:
        return _shell(text)
    return '"' + re.sub(r'[\\"$`]', r"\\\g<0>", text) + f'${header.variable}"'


_PRINTED = """answer = response.json()
if response.is_error:
    raise RuntimeError(f"{answer['error']}: {answer['message']}")
print(answer)"""
"""The end of a program in Python. `raise_for_status` would hide the code and the message of the error."""


def python(call: Call) -> str:
    """A program that prints the response, or fails on an error response with its code and message."""
    named = call.method in ("POST", "PUT", "PATCH") or (call.method in ("GET", "DELETE") and call.body is NOTHING)
    function = f"httpx.{call.method.lower()}" if named else "httpx.request"
    arguments = [] if named else [_quoted(call.method)]
    arguments.append(_quoted(call.url))
    if call.headers:
        pairs = [f"{_quoted(header.name)}: {_python_value(header)}" for header in call.headers]
        arguments.append(f"headers={_block('{', pairs, '}', 1)}")
    if call.body is not NOTHING:
        arguments.append(f"json={_python(call.body, 1)}")
    alone = len(arguments) == 1
    sent = f"{function}({arguments[0]})" if alone else _block(f"{function}(", arguments, ")", 0)
    imports = "import os\n\nimport httpx" if any(header.variable for header in call.headers) else "import httpx"
    return f"{imports}\n\nresponse = {sent}\n{_PRINTED}"


def _python_value(header: Header) -> str:
    if not header.variable:
        return _quoted(header.value)
    variable = f"os.environ[{_quoted(header.variable)}]"
    return f"{_quoted(header.value)} + {variable}" if header.value else variable


def _python(value: Any, depth: int) -> str:
    match value:
        case None | True | False:
            return repr(value)
        case str():
            return _quoted(value)
        case dict():
            pairs = [f"{_quoted(key)}: {_python(inner, depth + 1)}" for key, inner in value.items()]
            return _block("{", pairs, "}", depth)
        case list():
            return _block("[", [_python(inner, depth + 1) for inner in value], "]", depth)
        case _:
            return repr(value)


def typescript(call: Call) -> str:
    """A module that prints the response, or throws on an error response."""
    options = [] if call.method == "GET" else [f"method: {_quoted(call.method)}"]
    headers = [f"{_key(header.name)}: {_typescript_value(header)}" for header in call.headers]
    if call.body is not NOTHING:
        headers.append('"Content-Type": "application/json"')
    if headers:
        options.append(f"headers: {_braces(headers, 1)}")
    if call.body is not NOTHING:
        options.append(f"body: JSON.stringify({_typescript(call.body, 1)})")
    more = f", {_braces(options, 0)}" if options else ""
    return (
        f"const response = await fetch({_quoted(call.url)}{more});\n"
        "const answer = await response.json();\n"
        "if (!response.ok) throw new Error(`${answer.error}: ${answer.message}`);\n"
        "console.log(answer);"
    )


def _typescript_value(header: Header) -> str:
    if not header.variable:
        return _quoted(header.value)
    return "`" + re.sub(r"[\\`$]", r"\\\g<0>", header.value) + f"${{process.env.{header.variable}}}`"


def _typescript(value: Any, depth: int) -> str:
    match value:
        case dict():
            pairs = [f"{_key(key)}: {_typescript(inner, depth + 1)}" for key, inner in value.items()]
            return _braces(pairs, depth)
        case list():
            return _braces([_typescript(inner, depth + 1) for inner in value], depth, "[]")
        case _:
            return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else _quoted(name)


def _block(before: str, parts: Sequence[str], after: str, depth: int, step: str = "    ") -> str:
    """The parts on a line each, indented; without any, the empty brackets."""
    if not parts:
        return before + after
    inner = "".join(f"{step * (depth + 1)}{part},\n" for part in parts)
    return f"{before}\n{inner}{step * depth}{after}"


def _braces(parts: Sequence[str], depth: int, around: str = "{}") -> str:
    """An object or list of TypeScript, which is indented by two spaces."""
    return _block(around[0], parts, around[1], depth, "  ")


def _quoted(text: str) -> str:
    """The text as a JSON string, which is also valid in Python and TypeScript."""
    return json.dumps(text, ensure_ascii=False)


_json: Callable[[Any], str] = partial(json.dumps, indent=2, ensure_ascii=False)

LANGUAGES: Sequence[tuple[str, str, Callable[[Call], str]]] = (
    ("curl", "curl", curl),
    ("python", "Python", python),
    ("typescript", "TypeScript", typescript),
)
