"""`/embed.js`: the script with which another site shows placements. Knows no framework.

Any site may load it, also one that isolates itself from other origins (COEP), so it says so by CORS and by CORP.
"""

from dataclasses import dataclass, field
from pathlib import Path

from service.api.messages import Answer
from service.snapshots.etags import digest_of, etag_of, matches

SCRIPT = Path(__file__).resolve().parent / "static" / "embed.js"
MAX_AGE_SECONDS = 3600
"""A site shows an older script for at most an hour after an upgrade; the API that it calls changes by additions alone."""


@dataclass(frozen=True, slots=True)
class Embed:
    """The script as it was when the node started: the same bytes, and so the same tag, on every node of a release."""

    body: bytes = field(default_factory=SCRIPT.read_bytes)

    def answer(self, if_none_match: str | None) -> Answer:
        """200 with the script, or 304 for who has it."""
        etag = etag_of(digest_of(self.body))
        headers = [
            ("etag", etag),
            ("cache-control", f"public, max-age={MAX_AGE_SECONDS}"),
            ("access-control-allow-origin", "*"),
            ("cross-origin-resource-policy", "cross-origin"),
        ]
        if matches(if_none_match, etag):
            return Answer(304, b"", headers)
        return Answer(200, self.body, headers, "text/javascript; charset=utf-8")
