"""Conditions that a reader adds to a statement, each with its parameter. Pure."""

from typing import Any

MARK = "/* conditions */"
"""Their place in a statement: after its own conditions."""


class Conditions:
    """Texts are constants of this program, and values become parameters. So each combination has a plan of its own."""

    def __init__(self, *parameters: Any) -> None:
        """`parameters` are those of the statement itself."""
        self.parameters = list(parameters)
        self._texts: list[str] = []

    def add(self, text: str, *values: Any) -> None:
        """Add a condition, in which `{}` stands for each of the values."""
        first = len(self.parameters) + 1
        self.parameters += values
        self._texts.append(text.format(*(f"${first + place}" for place in range(len(values)))))

    def within(self, statement: str) -> str:
        """The statement with all conditions."""
        assert MARK in statement, "the statement takes no conditions"
        return statement.replace(MARK, "".join(f" and {text}" for text in self._texts))
