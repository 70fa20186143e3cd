"""`/embed.js`: the script that shows placements on other sites. Knows no framework.

Its CORS and CORP headers let any site load it, including sites that isolate themselves from other origins (COEP).
"""

from functools import cache

from service.web.representations import Representation
from service.web.static_files import FOLDER

SCRIPT = FOLDER / "embed.js"
MAX_AGE_SECONDS = 3600
"""A site may run an old script for an hour after an upgrade, so the API that the script calls only gains features."""


@cache
def embed_script() -> Representation:
    """The script, read once. All nodes of a release have the same bytes and the same ETag."""
    headers = [
        ("cache-control", f"public, max-age={MAX_AGE_SECONDS}"),
        ("access-control-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
    ]
    return Representation(SCRIPT.read_bytes(), "text/javascript; charset=utf-8", headers)
