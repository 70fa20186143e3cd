"""The static files, read when the first application of the process is built.

Pages name a file by its content (`style.<digest>.css`), so browsers keep it for a year, and a new release has another name.
The plain name serves the current file, which browsers ask for again. So does a digest of another release: while two
releases run side by side, a page of one may ask a node of the other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from types import MappingProxyType

from service.api.messages import Answer
from service.snapshots.etags import digest_of
from service.web.representations import Representation

FOLDER = Path(__file__).resolve().parent / "static"
PREFIX = "/static/"
MAX_BYTES = 1024 * 1024
"""Bound of all files together, which stay in memory."""

DIGEST_CHARACTERS = 16
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
FOREVER = ("cache-control", "public, max-age=31536000, immutable")
REVALIDATED = ("cache-control", "no-cache")
_NAMED = re.compile(rf"([a-z-]+)\.([0-9a-f]{{{DIGEST_CHARACTERS}}})(\.[a-z]+)")


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file under its two names: `digest` stands in the lasting one."""

    digest: str
    plain: Representation
    lasting: Representation


class StaticFiles:
    """All static files by their plain names."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        size = sum(map(len, contents.values()))
        assert size <= MAX_BYTES, f"the static files have {size} bytes"
        self._files = MappingProxyType({name: _file(name, content) for name, content in contents.items()})

    def url(self, name: str) -> str:
        """The path of a file, for pages. Raises KeyError for a name that is none."""
        path = PurePath(name)
        return f"{PREFIX}{path.stem}.{self._files[name].digest}{path.suffix}"

    async def answer(self, name: str, headers: Mapping[str, str]) -> Answer | None:
        """The response to a request for a name below `/static/`, or None if there is no such file."""
        file = self._files.get(name)
        if file is not None:
            return await file.plain.answer(headers)
        named = _NAMED.fullmatch(name)
        file = None if named is None else self._files.get(f"{named[1]}{named[3]}")
        if named is None or file is None:
            return None
        return await (file.lasting if named[2] == file.digest else file.plain).answer(headers)


def _file(name: str, content: bytes) -> StaticFile:
    content_type = CONTENT_TYPES[PurePath(name).suffix]
    kinds = (Representation(content, content_type, [caching]) for caching in (REVALIDATED, FOREVER))
    return StaticFile(digest_of(content).hex()[:DIGEST_CHARACTERS], *kinds)


@cache
def static_files() -> StaticFiles:
    """The files of this release."""
    return StaticFiles({path.name: path.read_bytes() for path in sorted(FOLDER.iterdir())})


def static_url(name: str) -> str:
    """The path of a static file, for templates."""
    return static_files().url(name)
