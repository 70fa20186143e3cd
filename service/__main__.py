"""`python -m service` and `catalog-service`: see `service/cli/main.py`. This file must parse with Python 3.6."""

import sys

from service.terminal.interpreter import require


def main() -> int:
    """The entry point: runs the command of the process's arguments and returns its exit code."""
    require("service", newest=True)
    from service.terminal.output import run_process

    return run_process("service", _run)


def _run() -> int:
    from service.cli.main import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
