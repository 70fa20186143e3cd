"""The command line for API callers. It needs only Python and a few modules of this package, so that it starts fast."""
