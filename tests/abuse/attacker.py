"""An attacker in its own process, so that its work does not delay the probe.

`python -m tests.abuse.attacker` reads its orders from standard input, as a line of JSON. It attacks until a second line,
prints its counts, and stays connected and silent until the input ends. It runs at a low priority, so that it does not
compete with the probe for a core.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import trio

from tests.abuse import attacks, http2, search
from tests.abuse.ground import Ground, allow_open_files

ATTACKS = {
    attack.__name__.replace("_", " "): attack
    for attack in (
        attacks.slowloris,
        attacks.dripped_bodies,
        attacks.unread_bodies,
        attacks.slow_readers,
        attacks.idle_connections,
        attacks.malformed_flood,
        attacks.churn,
        attacks.code_guesses,
        attacks.token_guesses,
        http2.http2_on_the_plain_port,
        http2.ping_flood,
        http2.settings_flood,
        http2.rapid_reset,
        search.search_hog,
        http2.unread_http2,
    )
}
OPEN_FILES = 4_000
NICENESS = 5


@dataclass(slots=True)
class Attacker:
    """An attack. `wait_begun` waits for its first connection. `fall_silent` then ends it and returns its counts."""

    process: "subprocess.Popen[str]"

    @classmethod
    def start(cls, names: Sequence[str], host: str, port: int, tls_port: int) -> "Attacker":
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.abuse.attacker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        attacker = cls(process)
        attacker._say(json.dumps({"attacks": list(names), "host": host, "port": port, "tls_port": tls_port}))
        return attacker

    def wait_begun(self) -> None:
        assert self._hear() == "begun"

    def fall_silent(self) -> Mapping[str, int]:
        self._say("silence")
        counts: dict[str, int] = json.loads(self._hear())
        return counts

    def hang_up(self) -> None:
        """End the process and all its connections."""
        self.process.kill()
        self.process.communicate()

    def _hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")


async def main() -> None:
    os.nice(NICENESS)
    random.seed(0)
    allow_open_files(OPEN_FILES)
    given = json.loads(sys.stdin.readline())
    ground = Ground(given["host"], given["port"], given["tls_port"])
    async with trio.open_nursery() as nursery:
        for name in given["attacks"]:
            nursery.start_soon(ATTACKS[name], ground)
        await ground.begun.wait()
        _answer("begun")
        await trio.to_thread.run_sync(sys.stdin.readline)
        nursery.cancel_scope.cancel()
    _answer(json.dumps({**ground.counts, "most open": ground.most_open}))
    await trio.to_thread.run_sync(sys.stdin.readline)


def _answer(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main)
