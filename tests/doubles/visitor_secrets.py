"""The store of the secrets of days in memory."""

from collections.abc import Mapping

from tests.doubles.tables import MemoryStore


class MemoryVisitorSecrets(MemoryStore):
    """The secrets of days."""

    async def agree(self, offered: Mapping[int, bytes], first_day: int) -> Mapping[int, bytes]:
        await self._memory.before()
        self._agree(offered, first_day)
        await self._memory.after()
        return dict(self._memory.visitor_secrets)

    def _agree(self, offered: Mapping[int, bytes], first_day: int) -> None:
        secrets = self._memory.visitor_secrets
        for day, secret in offered.items():
            secrets.setdefault(day, secret)
        for day in [day for day in secrets if day < first_day]:
            del secrets[day]
