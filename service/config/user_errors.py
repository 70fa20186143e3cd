"""Errors that the operator can fix. Their text is one clear line: what is wrong, where, and what to do."""


class UserError(Exception):
    """Base class: the command line prints the text and exits with code 2."""


class ConfigError(UserError):
    """The configuration cannot be used; the text has one line for each problem."""
