"""`python -m tests.chaos.node serve ...`: the service as it is, with another clock passed in where `main` makes its own."""

import sys

from service import main as composition
from service.cli.main import main
from tests.chaos.clock import SteppedClock

if __name__ == "__main__":
    composition.SystemClock = SteppedClock  # type: ignore[assignment,misc]
    sys.exit(main(sys.argv[1:]))
