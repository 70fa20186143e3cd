"""The name and the version of the program, for `--version`, `/ops`, the metrics, the OpenAPI document and the wheel alike."""

PROGRAM = "catalog-service"
"""The command of an installation, and the name of its folders."""

VERSION = "1.2.0"
