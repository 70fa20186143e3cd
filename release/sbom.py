"""Writes the bill of materials of a lock as CycloneDX JSON, valid by its schema: `python -m release.sbom LOCK FILE`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from service.version import VERSION

ROOT = Path(__file__).resolve().parent.parent


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The document of cyclonedx-py with the version of the service, and with what the service depends on.

    Raises `ValueError` if a package has no SHA-256.
    """
    service = document["metadata"]["component"]
    service["version"] = VERSION
    for component in document["components"]:
        del component["description"]  # its lines of the lock, whose hashes follow
        hashes = [each for reference in component.get("externalReferences", []) for each in reference.get("hashes", [])]
        if not any(each["alg"] == "SHA-256" for each in hashes):
            raise ValueError(f"{component['name']} has no SHA-256 in the lock")
    refs = sorted(component["bom-ref"] for component in document["components"])
    others = [each for each in document.get("dependencies", []) if each["ref"] != service["bom-ref"]]
    document["dependencies"] = [*others, {"ref": service["bom-ref"], "dependsOn": refs}]
    return document


def main(lock: str, file: str) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    command = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", lock, "--output-reproducible"]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--spec-version", "1.6", "--output-file", "-"]
    written = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    document = completed(json.loads(written))
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error is not None:
        sys.exit(f"sbom: the document is not valid: {error}")
    target = Path(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{file}: {len(document['components'])} packages, valid CycloneDX 1.6\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
