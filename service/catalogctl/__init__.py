"""The command line for API callers. It imports only the standard library and itself, so that it starts fast."""

VERSION = "1.0.0"
