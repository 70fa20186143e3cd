"""Scripts that complete a program's commands and options in a shell."""

import argparse
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")

NOTHING = {"zsh": "()"}
"""Completes to nothing. Without it zsh shows what an argument is, and then completes no option in its place."""


class NoLibrary(Exception):
    """The library that writes the scripts is missing. The text is one line for the user."""


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script of a parser for one of `SHELLS`. Raises `NoLibrary`."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise NoLibrary(
            "completion needs the Python package shtab: install the wheel of the service, or run pip install shtab"
        ) from None
    for each in _parsers(parser):
        for action in each._actions:
            if action.metavar in ("DIR", "FILE"):
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]
            elif not action.option_strings and action.choices is None:
                action.complete = NOTHING  # type: ignore[attr-defined]
    return shtab.complete(parser, shell)


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in dict.fromkeys(action.choices.values()):
                yield from _parsers(each)
