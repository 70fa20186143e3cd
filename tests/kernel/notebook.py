"""The actor of these tests: it stores lines in a journaled store whose failures follow a script."""

from collections.abc import Callable, Iterable, Sequence

from actors.kernel.actor import Actor, ActorLimits
from actors.values import BatchId
from tests.doubles.tables import Memory
from tests.fakes import Script, Step


class Notebook(Actor[str, str]):
    """Stores each line once and answers with its number. The line "bug" raises an unexpected error.

    `before` and `after` script the store before and after each transaction, `loads` each load.
    """

    def __init__(
        self,
        name: str = "notebook",
        *,
        limits: ActorLimits | None = None,
        before: Iterable[Step] = (),
        after: Iterable[Step] = (),
        loads: Iterable[Step] = (),
    ) -> None:
        super().__init__(name, "node", limits or ActorLimits())
        self.lines: list[str] = []
        self.attempts: list[tuple[int, list[str]]] = []
        self.loads = Script(loads)
        self.loaded: list[str] = []
        self._memory = Memory(before=Script(before), after=Script(after))

    async def load(self) -> None:
        await self.loads()
        self.loaded = list(self.lines)

    async def commit(self, batch_id: BatchId, messages: Sequence[str]) -> Sequence[str]:
        self.attempts.append((batch_id.seq, list(messages)))
        return await self._memory.transact(batch_id, self._keeping(messages))

    def _keeping(self, messages: Sequence[str]) -> Callable[[], list[str]]:
        def work() -> list[str]:
            if "bug" in messages:
                raise RuntimeError("a line that nobody expected")
            first = len(self.lines)
            self.lines.extend(messages)
            return [f"{number}: {line}" for number, line in enumerate(messages, first)]

        return work

    @property
    def batches(self) -> list[list[str]]:
        """The messages of each attempt."""
        return [messages for _, messages in self.attempts]
