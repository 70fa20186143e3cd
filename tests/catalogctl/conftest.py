"""A user without files, over the real network."""

from pathlib import Path

import pytest

from service.catalogctl.transport import download, send
from tests.catalogctl.stage import Stage


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    for variable in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    return Stage(tmp_path / "config", send=send, download=download)
