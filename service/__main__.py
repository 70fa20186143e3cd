"""`python -m service`: see `service/cli.py`."""

import sys

from service.cli import main

sys.exit(main(sys.argv[1:]))
