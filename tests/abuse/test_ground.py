"""The base of the attacks, tested against a node of a few lines, and the judgement of an attack."""

from functools import partial

import pytest
import trio

from tests.abuse.campaign import Outcome
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


@pytest.mark.parametrize(("waited", "counted"), [(0.0, ["lost", "slow"]), (0.2, ["lost", "slow"]), (0.5, ["lost"])])
def test_times_that_a_busy_machine_made_are_told_and_no_fault(waited: float, counted: list[str]) -> None:
    outcome = Outcome("churn", faults=["lost"], doubts=["slow"], waited_share=waited)
    assert outcome.counted == counted
    assert not outcome.held
    assert ("UNSURE: slow" in str(outcome)) == (waited == 0.5)
