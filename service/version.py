"""The version of the API, shown in the OpenAPI document and for each node."""

VERSION = "1.0.0"
