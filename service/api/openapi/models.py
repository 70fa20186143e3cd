"""The component schemas of the document: the wire models of bodies, results and errors."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from service.api.openapi.components import ERRORS
from service.api.operation import Operation


class SchemaWriter(GenerateJsonSchema):
    """Writes the schemas of models without `"default": null`. What may be absent is not required, and null is often of
    another type."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if self.get_default_value(schema) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    """The JSON schema of each model that an operation reads or returns, by name."""
    inputs = [operation.body for operation in operations if operation.body is not None]
    outputs = [*(operation.result for operation in operations), *ERRORS.values()]
    _, definitions = models_json_schema(
        [
            *((model, "validation") for model in dict.fromkeys(inputs)),
            *((model, "serialization") for model in dict.fromkeys(outputs)),
        ],
        ref_template="#/components/schemas/{model}",
        schema_generator=SchemaWriter,
    )
    found: dict[str, Any] = definitions["$defs"]
    bodies, returned = _with_inner(found, inputs), _with_inner(found, outputs)
    for name, schema in found.items():
        if name not in bodies or name in returned:
            _without_null(schema)
    return found


def _with_inner(found: Mapping[str, Any], models: Iterable[type[BaseModel]]) -> set[str]:
    """The names of these models, and of those in them."""
    names: set[str] = set()
    waiting = [model.__name__ for model in models]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += re.findall(r"#/components/schemas/(\w+)", json.dumps(found[name]))
    return names


def _without_null(schema: dict[str, Any]) -> None:
    """Responses omit optional fields instead of returning null, unless they are required."""
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        if name in required:
            continue
        kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
        if len(kinds) == 1:
            del field["anyOf"]
            field |= {**kinds[0], **field}
        elif kinds:
            field["anyOf"] = kinds
