"""JSON text read value by value, each with its line, and more strictly than Python's own decoder reads it.

Knows nothing of what the values mean.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Self

_SPACE = re.compile(r"[ \t\r\n]*")


class Malformed(ValueError):
    """A text, or a value in it, is not what it should be; says what in words for a person."""


class Broken(Exception):
    """The text is no JSON from `at` on."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why = why
        self.at = at


class Walker:
    """Walks over JSON text one value at a time, and knows on which line it is.

    What JSON allows and a catalog does not (a key that stands twice) or Python takes and JSON does not (NaN) makes the
    value a `Malformed`, and the walk goes on behind it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._counted = 0
        self._problem: str | None = None
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=self._constant)
        self.value_line = 1

    def value(self) -> Any:
        """The next value, or a `Malformed` in its place."""
        self._skip()
        self._problem = None
        try:
            value, self._at = self._decoder.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            raise self._broken(error.msg, error.pos) from None
        except RecursionError:
            raise Broken("nested too deeply", self._at) from None
        except ValueError:
            raise Broken("a number has too many digits", self._at) from None
        return value if self._problem is None else Malformed(self._problem)

    def elements(self) -> Iterator[Any]:
        """The values of the array that was opened."""
        if self.accept("]"):
            return
        while True:
            self.value_line = self.line()
            yield self.value()
            if self.accept("]"):
                return
            self.opened(",")

    def members(self) -> Iterator[str]:
        """The names of the object that begins here; between them the caller walks over the value."""
        self.opened("{")
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise Broken("expected the name of a list", self._at)
            self.opened(":")
            yield name
            if self.accept("}"):
                return
            self.opened(",")

    def accept(self, sign: str) -> bool:
        """Walk over `sign` if it comes next."""
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def opened(self, sign: str) -> Self:
        """Walk over `sign`, which must come next."""
        if not self.accept(sign):
            raise self._broken(f"expected '{sign}'", self._at)
        return self

    def end(self) -> None:
        """Nothing may follow."""
        self._skip()
        if self._at < len(self._text):
            raise Broken("something follows the end of the value", self._at)

    def line(self) -> int:
        """The line on which the next value begins."""
        self._skip()
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None, "the pattern matches nothing, too"
        self._at = match.end()

    def _broken(self, why: str, at: int) -> Broken:
        cut_off = why.startswith("Unterminated") or not self._text[at:].strip()
        return Broken("it ends in the middle of a value" if cut_off else why, at)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            self._problem = f'the key "{twice}" stands twice'
        return members

    def _constant(self, name: str) -> None:
        self._problem = f"{name} is not JSON"
