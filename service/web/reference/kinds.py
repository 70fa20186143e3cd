"""Describes JSON schemas in a few words, and lists the fields of a model. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

DEEPEST = 6
"""Models within models that are followed, at most."""
LONGEST_PATTERN = 40
"""Longer patterns say nothing to a reader, nor do those about control characters."""
SAFE_INTEGERS = 2**53 - 1
"""Bounds from here on only keep numbers exact in JavaScript."""

FORMATS = {"uri": "URL", "uuid": "UUID", "email": "email address", "date-time": "date and time", "date": "date"}
BOUNDS = (
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
    ("minimum", "maximum", ""),
)


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter or property. `place` is where a parameter stands (path, query, header); empty for properties."""

    name: str
    kind: str
    required: bool
    description: str
    place: str = ""


def resolved(document: Schema, part: Schema) -> Schema:
    """The part of the document that a reference names, or the part itself."""
    while "$ref" in part:
        found: Any = document
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step.replace("~1", "/").replace("~0", "~")]
        part = found
    return part


def fields_of(document: Schema, schema: Schema, place: str = "", deep: int = 0) -> list[Field]:
    """The properties of a model. Nested ones follow under their path: `guide.title`, `data[].slug`."""
    schema = resolved(document, schema)
    if schema.get("type") == "array":
        inner = _models(document, schema)
        return [each for below, model in inner for each in fields_of(document, model, f"{place}{below}.", deep + 1)]
    required = set(schema.get("required", ()))
    fields = []
    for name, inner in schema.get("properties", {}).items():
        where = f"{place}{name}"
        description = _description(document, inner)
        fields.append(Field(where, kind_of(document, inner), name in required, description))
        if deep < DEEPEST:
            for below, model in _models(document, inner):
                fields += fields_of(document, model, f"{where}{below}.", deep + 1)
    return fields


def _description(document: Schema, schema: Schema) -> str:
    """The description of a property, or else of what it refers to. A model with fields is explained by these."""
    own = str(schema.get("description", ""))
    if own or "properties" in resolved(document, schema):
        return own
    inner = [resolved(document, one) for one in schema.get("anyOf", [schema] if "$ref" in schema else ())]
    return next((str(one["description"]) for one in inner if "description" in one and "properties" not in one), "")


def _models(document: Schema, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The models within a schema, each with the end of its path: empty, or `[]` for the items of a list."""
    for one in schema.get("anyOf", (schema,)):
        one = resolved(document, one)
        if one.get("type") == "array":
            for below, model in _models(document, one.get("items", {})):
                yield f"[]{below}", model
        elif "properties" in one:
            yield "", one


def kind_of(document: Schema, schema: Schema) -> str:
    """A schema in a few words: `string, 1 to 80 characters`, `array of UseCase`, `integer or null`."""
    target = resolved(document, schema)
    if "$ref" in schema and "properties" in target:
        return str(schema["$ref"].rsplit("/", 1)[1])
    schema = target
    if "anyOf" in schema:
        return ", or ".join(kind_of(document, one) for one in schema["anyOf"])
    if "enum" in schema:
        *others, last = [f"`{value}`" for value in schema["enum"]]
        return f"{', '.join(others)} or {last}" if others else f"always {last}"
    if "const" in schema:
        return f"always `{schema['const']}`"
    if schema.get("maxLength") == 0:
        return "empty"
    return ", ".join([_noun(document, schema), *_bounds(schema), *_extras(schema)])


def _noun(document: Schema, schema: Schema) -> str:
    kind = schema.get("type", "any")
    if kind == "array":
        return f"array of {kind_of(document, schema.get('items', {}))}"
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    return FORMATS.get(schema.get("format", ""), str(kind))


def _bounds(schema: Schema) -> Iterator[str]:
    for least, most, unit in BOUNDS:
        low, high = schema.get(least), schema.get(most)
        if high is not None and high >= SAFE_INTEGERS:
            high = None
        if low == high and low is not None:
            yield f"exactly {low}{unit}"
        elif low is not None and high is not None:
            yield f"{low} to {high}{unit}"
        elif low is not None and (least, low) != ("minLength", 1):
            yield f"at least {low}{unit}"
        elif high is not None:
            yield f"at most {high}{unit}"


def _extras(schema: Schema) -> Iterator[str]:
    pattern = schema.get("pattern", "")
    if pattern and len(pattern) <= LONGEST_PATTERN and "\\x" not in pattern:
        yield f"matching `{pattern}`"
    default = schema.get("default")
    if default is not None:
        yield f"`{str(default).lower() if isinstance(default, bool) else default}` if absent"
