"""`python -m service.catalogctl`: see `main.py`."""

import sys

from service.catalogctl.main import main

sys.exit(main())
