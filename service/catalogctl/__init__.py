"""The command line for API callers. It imports only the standard library and itself, so that it starts fast."""

VERSION = "0.1.0"
