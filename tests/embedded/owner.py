"""A minimal service process: owns the Postgres of a directory until it is stopped. Prints one line when it runs.

Usage: python -m tests.embedded.owner DATA_DIR
"""

import json
import sys
from pathlib import Path

import trio

from storage.embedded.children import EmbeddedError
from storage.embedded.server import running_postgres


async def main(data_dir: Path) -> None:
    async with running_postgres(data_dir) as postgres:
        facts = {"pid": postgres.statistics().pid, "host": postgres.endpoint.host}
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
        await trio.sleep_forever()


if __name__ == "__main__":
    try:
        trio.run(main, Path(sys.argv[1]))
    except EmbeddedError as error:
        sys.exit(str(error))
