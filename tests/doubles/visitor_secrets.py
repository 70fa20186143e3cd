"""The store of the secrets of days in memory."""

from collections.abc import Mapping

from tests.doubles.tables import MemoryStore


class MemoryVisitorSecrets(MemoryStore):
    """The secrets of days."""

    async def agree(self, offered: Mapping[int, bytes], first_day: int) -> Mapping[int, bytes]:
        secrets = self._memory.visitor_secrets
        await self._memory.before()
        for day, secret in offered.items():
            secrets.setdefault(day, secret)
        for day in [day for day in secrets if day < first_day]:
            del secrets[day]
        await self._memory.after()
        return dict(secrets)
