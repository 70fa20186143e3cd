"""Record a history of any HTTP client: `python -m tests.judge.proxy --to http://127.0.0.1:8080 --record FILE`.

Passes requests on to nodes, each behind a listener of its own, and writes the operations to one file as they end.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import IO, NamedTuple
from urllib.parse import urlsplit

import trio

from service.http.addresses import is_loopback
from tests.judge.recording import Recorder, running_clock
from tests.judge.records import VERSION, Header
from tests.judge.relay import Relay


class Place(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def place_of(text: str) -> Place:
    """Raises ArgumentTypeError for anything but HOST:PORT."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port is None or parts.netloc != text or parts.username is not None:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return Place(host, port)


def node_of(text: str) -> Place:
    """Raises ArgumentTypeError for anything but http://HOST:PORT."""
    scheme, _, rest = text.partition("://")
    try:
        if scheme == "http" and (place := place_of(rest.removesuffix("/"))).port:
            return place
    except argparse.ArgumentTypeError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not http://HOST:PORT")


def is_local(place: Place) -> bool:
    return place.host == "localhost" or is_loopback(place.host)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.judge.proxy", description="Pass requests on to nodes and record their history."
    )
    add = parser.add_argument
    add("--to", type=node_of, action="append", required=True, metavar="URL", help="a node; repeat it for several")
    listen = "where clients connect, one for each --to in their order; by default a free port of 127.0.0.1"
    add("--listen", type=place_of, action="append", metavar="HOST:PORT", help=listen)
    add("--record", required=True, metavar="FILE", help="the new file of the history")
    add("--whole", action="store_true", help="every request that changes the service's state goes through this proxy")
    add("--fresh", action="store_true", help="the database was empty before")
    add("--single", action="store_true", help="each --to is one node with one worker")
    add("--beyond-loopback", action="store_true", help="allow --listen to accept connections of other machines")
    chosen = parser.parse_args(arguments)
    chosen.listen = chosen.listen or [Place("127.0.0.1", 0) for _ in chosen.to]
    if len(chosen.listen) != len(chosen.to):
        parser.error(f"there are {len(chosen.to)} --to and {len(chosen.listen)} --listen")
    far = [each for each in chosen.listen if not is_local(each)]
    if far and not chosen.beyond_loopback:
        parser.error(f"{far[0]} may be reached from other machines; add --beyond-loopback to allow that")
    return chosen


async def record(chosen: argparse.Namespace) -> None:
    """Serve until SIGINT or SIGTERM. Raises OSError, also in a group."""
    now, header = running_clock(), Header(VERSION, "proxy", chosen.whole, chosen.fresh, chosen.single)
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals, ExitStack() as stack:
        listeners = [await _listening(each) for each in chosen.listen]
        for listener in chain(*listeners):
            stack.callback(listener.socket.close)
        recorder = Recorder(stack.enter_context(_new_file(chosen.record)), header)
        async with trio.open_nursery() as nursery:
            for node, own in zip(chosen.to, listeners, strict=True):
                relay = Relay(str(node), partial(trio.open_tcp_stream, node.host, node.port), recorder, now)
                nursery.start_soon(trio.serve_listeners, relay.serve, own)
                for listener in own:
                    place = Place(*listener.socket.getsockname()[:2])
                    _say(f"listening on http://{place} for http://{node}")
            async for _ in signals:
                nursery.cancel_scope.cancel()
    _say(f"{recorder.operations} operations are in {chosen.record}")


async def _listening(place: Place) -> list[trio.SocketListener]:
    try:
        return await trio.open_tcp_listeners(place.port, host=place.host)
    except OSError as error:
        raise OSError(f"{place}: {error.strerror or error}") from None


def _new_file(path: str) -> IO[bytes]:
    """A file that its owner alone can read, because it tells who asked for what."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _words(error: BaseException) -> str:
    """The first error of a group."""
    return _words(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else str(error)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 after a signal; 2 if a listener or the file fails, at the start or later."""
    chosen, failed = _options(arguments), ""
    try:
        trio.run(record, chosen)
    except* OSError as errors:
        failed = _words(errors)
    if failed:
        sys.stderr.write(f"the recording has ended: {failed}\n")
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
