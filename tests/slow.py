"""What `make test` leaves to `make thorough`, so that it stays a matter of minutes: nothing that is not shown in part."""

import os

SLOW = bool(os.environ.get("CATALOG_TEST_SLOW"))
"""Every planted bug instead of every fifth, pictures of all pages, the installation anew, and kills of three nodes."""
