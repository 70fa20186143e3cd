"""The modules that a process loads at startup."""

import subprocess
import sys

LOADED = """
import sys
import service.process.worker_process
print(*sorted(name for name in sys.modules if name.split(".")[:2] == ["service", "cli"]))
"""


def test_a_worker_process_loads_nothing_of_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []
