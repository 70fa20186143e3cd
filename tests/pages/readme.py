"""The pictures of README.md, taken anew: `python -m tests.pages.readme FOLDER`, or `make readme-shots`."""

import base64
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import ViewportSize

from tests.pages.stage import chosen, open_stage

WINDOW: ViewportSize = {"width": 1280, "height": 960}
LOOKS = "home,sponsor-report"
MOST_BYTES = 60_000
QUALITIES = range(90, 30, -5)
"""Of WebP, the best first."""


def main(arguments: Sequence[str]) -> None:
    """Save the top of each page by day and by night, in the best quality of at most `MOST_BYTES`."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    with open_stage() as stage:
        for look in chosen(LOOKS):
            person = stage.looker(look)
            person.page.set_viewport_size(WINDOW)
            person.opens(stage.address(look))
            session = person.page.context.new_cdp_session(person.page)
            for scheme in ("light", "dark"):
                person.page.emulate_media(color_scheme=scheme)
                tries = (
                    session.send("Page.captureScreenshot", {"format": "webp", "quality": quality})["data"]
                    for quality in QUALITIES
                )
                picture = next(data for data in map(base64.b64decode, tries) if len(data) <= MOST_BYTES)
                (folder / f"{look.name}-{scheme}.webp").write_bytes(picture)


if __name__ == "__main__":
    main(sys.argv[1:])
