"""`python -m service.catalogctl` and `catalogctl`: see `main.py`. This file must parse with Python 3.6."""

import sys

from service.terminal.interpreter import require


def main() -> int:
    """The entry point: runs the command of the process's arguments and returns its exit code."""
    require("catalogctl", newest=False)
    from service.terminal.output import run_process

    return run_process("catalogctl", _run)


def _run() -> int:
    from service.catalogctl.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
