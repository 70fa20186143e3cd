"""The environment of a run: the machine, and the versions of all programs."""

import os
import platform
import re
import shutil
import subprocess

from bench.load import generator
from bench.results import Setting
from bench.scenarios import Plan
from bench.stage import BOOKINGS, Stage


async def setting_of(stage: Stage, plan: Plan) -> Setting:
    return Setting(
        entries=await stage.ledger.entries(),
        bookings=BOOKINGS,
        rounds=plan.rounds,
        seconds=plan.seconds,
        generator=generator(exact=True) if plan.quick else generator_version(),
        postgres=await stage.ledger.version(),
        python=platform.python_version(),
        kernel=kernel(),
        cores=os.cpu_count() or 1,
    )


def generator_version() -> str:
    path = shutil.which("wrk")
    if path is None:
        return generator()
    said = subprocess.run([path, "-v"], capture_output=True, text=True, check=False)
    version = re.search(r"\d+\.\d+\.\d+", said.stdout + said.stderr)
    return f"wrk {version[0]}" if version else "wrk"


def kernel() -> str:
    """The version of the kernel, without the distribution's suffix."""
    version = re.match(r"\d+\.\d+", platform.release())
    return version[0] if version else platform.system()
