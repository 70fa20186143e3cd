"""Statements that are sent once for all who ask in the same turn."""

import trio
from trio.testing import wait_all_tasks_blocked

from actors.values import StorageUnavailable
from storage.connection.together import Row, Together


class Server:
    """Answers each statement with its number, once it is `open`. Those whose number is in `fails` fail."""

    def __init__(self, *fails: int) -> None:
        self.sent = 0
        self.fails = fails
        self.open = trio.Event()

    async def fetch(self, statement: str) -> Row:
        self.sent += 1
        number = self.sent
        await self.open.wait()
        if number in self.fails:
            raise StorageUnavailable("away")
        return {"number": number}


async def ask(together: Together, heard: list[int]) -> None:
    try:
        heard.append((await together.row("select"))["number"])
    except StorageUnavailable:
        heard.append(0)


async def test_those_who_ask_in_one_turn_share_a_statement_and_a_later_one_has_his_own() -> None:
    server, heard = Server(), list[int]()
    together = Together(server.fetch)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask, together, heard)
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, together, heard)  # its row must not be older than its question
        await wait_all_tasks_blocked()
        server.open.set()
    assert sorted(heard) == [1, 1, 1, 2]


async def test_the_others_ask_anew_if_the_first_fails() -> None:
    server, heard = Server(1), list[int]()
    together = Together(server.fetch)
    server.open.set()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask, together, heard)
    assert sorted(heard) == [0, 2, 2]


async def test_the_others_ask_anew_if_the_first_is_cancelled() -> None:
    """Which of the two is the first is up to Trio."""
    outcomes = set()
    for _ in range(50):
        server, heard = Server(), list[int]()
        together = Together(server.fetch)
        async with trio.open_nursery() as nursery:
            leaves = await nursery.start(begun, together)
            nursery.start_soon(ask, together, heard)
            await wait_all_tasks_blocked()
            leaves.cancel()
            server.open.set()
        outcomes.add((server.sent, *heard))
    assert outcomes <= {(1, 1), (2, 2)}


async def begun(together: Together, task_status: trio.TaskStatus[trio.CancelScope]) -> None:
    with trio.CancelScope() as scope:
        task_status.started(scope)
        await ask(together, [])
