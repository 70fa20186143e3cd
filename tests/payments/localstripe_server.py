"""Runs `localstripe` on loopback alone and in memory alone, which its own command does not.

Writes its address once it listens: `python -m tests.payments.localstripe_server`.
"""

import socket
import sys

from aiohttp import web
from localstripe.resources import Store
from localstripe.server import app


def main() -> None:
    Store.dump_to_disk = lambda self: None
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        web.run_app(app, sock=listener, print=None, access_log=None)


if __name__ == "__main__":
    main()
