"""The command line for callers: only the standard library, none of the service's other modules, so that it starts fast."""

VERSION = "0.1.0"
