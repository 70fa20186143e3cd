"""Which version of the API this is: what the OpenAPI document, and a node that is asked, report."""

VERSION = "1.0.0"
