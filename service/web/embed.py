"""`/embed.js`: the script that shows placements on other sites. Knows no framework.

Its CORS and CORP headers let any site load it, including sites that isolate themselves from other origins (COEP).
"""

from dataclasses import dataclass, field
from pathlib import Path

from service.api.messages import Answer
from service.snapshots.etags import digest_of, etag_of, matches

SCRIPT = Path(__file__).resolve().parent / "static" / "embed.js"
MAX_AGE_SECONDS = 3600
"""A site may run an old script for an hour after an upgrade, so the API that the script calls only gains features."""


@dataclass(frozen=True, slots=True)
class Embed:
    """The script, read when the node starts. All nodes of a release have the same bytes and the same ETag."""

    body: bytes = field(default_factory=SCRIPT.read_bytes)

    def answer(self, if_none_match: str | None) -> Answer:
        """200 with the script, or 304 if the client has it."""
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
