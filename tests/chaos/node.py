"""The service with a steppable clock in place of `main`'s own: `python -m tests.chaos.node serve ...`."""

import sys

from service.cli.main import main
from service.running import foundation as ground
from service.running import node
from tests.chaos.clock import SteppedClock

if __name__ == "__main__":
    for module in (ground, node):
        setattr(module, "SystemClock", SteppedClock)  # noqa: B010 - the type of an imported class is fixed
    sys.exit(main(sys.argv[1:]))
