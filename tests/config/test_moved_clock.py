"""A database whose clock was moved: who starts with it, and what `doctor` says."""

import pytest

from service.cli.doctor import moved_clock
from service.config.deployment import refuse_moved_clock
from service.config.loading import load
from service.config.user_errors import ConfigError

AHEAD_MS = 90 * 60 * 60 * 1_000
MOVED = "the clock of this database was moved 3.8 days ahead at /dev/clock"


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("DATABASE__URL", "postgres://db.example/catalog", "database.url is set"),
        ("SERVER__WORKERS", "2", "server.workers is more than 1"),
        ("SERVER__BIND", "0.0.0.0:8080", "others can reach the service"),
        ("SERVER__BASE_URL", "https://catalog.example.com", "others can reach the service"),
        ("MAIL__SMTP_URL", "smtp://mail.example:25", "mail.smtp_url is set"),
    ],
)
def test_only_a_service_for_developers_starts_with_a_moved_clock(setting: str, value: str, why: str) -> None:
    config = load(None, {f"CATALOG__{setting}": value})
    refuse_moved_clock(config, 0)
    with pytest.raises(ConfigError, match=why) as refused:
        refuse_moved_clock(config, AHEAD_MS)
    assert MOVED in str(refused.value)
    assert moved_clock(config, AHEAD_MS) == [str(refused.value)]


def test_a_service_for_developers_starts_with_it_and_doctor_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert moved_clock(load(None, {}), 0) == []
    assert capsys.readouterr().out == ""
    assert moved_clock(load(None, {}), AHEAD_MS) == []
    assert capsys.readouterr().out == f"note: {MOVED}\n"
