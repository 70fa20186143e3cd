"""`python -m service`: see `service/cli/main.py`."""

import sys

from service.cli.main import main

sys.exit(main(sys.argv[1:]))
