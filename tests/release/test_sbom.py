"""The bill of materials, after cyclonedx-py has read the lock."""

from typing import Any

import pytest

from release.sbom import completed
from service.version import VERSION


def document(*hashes: dict[str, str]) -> dict[str, Any]:
    part = {
        "bom-ref": "one",
        "name": "one",
        "description": "a line of the lock",
        "externalReferences": [{"type": "distribution", "hashes": list(hashes)}],
    }
    service = {"bom-ref": "root", "name": "service"}
    return {"metadata": {"component": service}, "components": [part], "dependencies": [{"ref": "one"}, {"ref": "root"}]}


def test_it_has_the_version_and_what_the_service_needs() -> None:
    made = completed(document({"alg": "SHA-256", "content": "00"}))
    assert made["metadata"]["component"]["version"] == VERSION
    assert made["dependencies"] == [{"ref": "one"}, {"ref": "root", "dependsOn": ["one"]}]
    assert "description" not in made["components"][0]


def test_a_package_without_a_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="one has no SHA-256"):
        completed(document({"alg": "MD5", "content": "00"}))
