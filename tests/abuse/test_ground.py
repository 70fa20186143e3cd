"""The base of the attacks, tested against a node of a few lines."""

from functools import partial

import pytest
import trio

from tests.abuse.ground import Ground


async def test_a_handshake_that_the_node_ends_is_a_refusal_and_no_bug() -> None:
    """A busy node may do so, and the attacker tries again."""

    async def hang_up(stream: trio.SocketStream) -> None:
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listener, *_ = await nursery.start(partial(trio.serve_tcp, hang_up, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        ground = Ground("127.0.0.1", port, port)
        with pytest.raises(ConnectionError, match="handshake"):
            async with ground.tls_connection():
                pass
        nursery.cancel_scope.cancel()
    assert not ground._open
