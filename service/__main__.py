"""`python -m service` and `catalog-service`: see `service/cli/main.py`."""

import sys

from service.cli.main import main as run


def main() -> int:
    """The entry point: runs the command of the process's arguments and returns its exit code."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
