"""What `make test` leaves to `make thorough`, so that it stays a matter of minutes: nothing that is not shown in part."""

import os

SLOW = bool(os.environ.get("CATALOG_TEST_SLOW"))
"""45 seeds of the simulation instead of 10, every planted bug instead of every tenth, all attacks instead of the slow ones,
pictures of all pages, the installation anew, and kills of three nodes."""
