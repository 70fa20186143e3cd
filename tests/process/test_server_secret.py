"""The server's secret: created once for a new database, and never again for one that is used with another."""

from pathlib import Path

import pytest

from service.config.loading import load
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.running.server_secret import Secrets

EMBEDDED = load(None, {})
EXTERNAL = load(None, {"CATALOG__DATABASE__URL": "postgresql://catalog@db.example.com/catalog"})


class Fingerprint:
    """An identity in memory."""

    def __init__(self) -> None:
        self.stored: bytes | None = None

    async def fingerprint(self) -> bytes | None:
        return self.stored

    async def claim(self, fingerprint: bytes) -> bytes:
        self.stored = self.stored or fingerprint
        return self.stored


async def test_a_new_database_gets_a_secret_that_stays(tmp_path: Path) -> None:
    identity = Fingerprint()
    first = await Secrets.load(EMBEDDED, tmp_path / "new", identity)
    assert (tmp_path / "new" / "secret").stat().st_mode & 0o777 == 0o600
    assert await Secrets.load(EMBEDDED, tmp_path / "new", identity) == first


@pytest.mark.parametrize(
    ("config", "remedy"),
    [(EMBEDDED, "or set server.secret"), (EXTERNAL, "or set server.secret on all nodes")],
    ids=["embedded", "external"],
)
async def test_a_missing_file_of_a_used_database_is_refused_and_not_replaced(
    config: Config, remedy: str, tmp_path: Path
) -> None:
    identity = Fingerprint()
    await Secrets.load(config, tmp_path / "old", identity)
    with pytest.raises(ConfigError) as refused:
        await Secrets.load(config, tmp_path / "new", identity)
    assert str(refused.value) == (
        f"{tmp_path}/new/secret is missing, and the database is used with it: restore it from a backup, {remedy}"
    )
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("config", "remedy"),
    [
        (EMBEDDED, "set server.secret to that of the database"),
        (EXTERNAL, "set server.secret to that of the database on all nodes"),
    ],
    ids=["embedded", "external"],
)
async def test_another_secret_than_that_of_the_database_is_refused(config: Config, remedy: str, tmp_path: Path) -> None:
    identity = Fingerprint()
    await Secrets.load(config, tmp_path, identity)
    (tmp_path / "secret").write_text("x" * 40)
    with pytest.raises(ConfigError) as refused:
        await Secrets.load(config, tmp_path, identity)
    place = f"{tmp_path}/secret"
    assert str(refused.value) == f"this database is used with another server secret than that of {place}: {remedy}"
