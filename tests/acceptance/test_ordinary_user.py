"""The service as an ordinary user, in an installation that such a user can reach. Slow, because it installs one."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from release.wheel import build_wheel
from service.version import VERSION
from storage.embedded.children import account_of
from storage.embedded.directories import make_directory, reaches
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import as_user, environment, serving, until
from tests.acceptance.smtp import MailServer, SmtpServer
from tests.acceptance.story import do_main_job

PYTHON = Path("/usr/bin/python3.11")
NOBODY = 65534


def _can_make_environments() -> bool:
    """Debian's Python may lack venv."""
    if not PYTHON.exists():
        return False
    return subprocess.run([PYTHON, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; all tests run as an ordinary one"),
    pytest.mark.skipif(not _can_make_environments(), reason=f"there is no {PYTHON} with venv"),
]


@pytest.fixture(scope="module")
def home(playground: Path) -> Path:
    """The home of the user nobody, beside an environment with the locked packages in `venv`."""
    place = playground / "ordinary"
    make_directory(place, 0o755)
    subprocess.run([PYTHON, "-m", "venv", place / "venv"], check=True)
    pip(place, "--require-hashes", "-r", REPOSITORY / "requirements/run.lock")
    home = place / "home"
    make_directory(home, 0o700)
    shutil.chown(home, NOBODY, account_of(NOBODY).gid)
    return home


def pip(place: Path, *arguments: str | Path) -> None:
    subprocess.run([place / "venv/bin/python", "-m", "pip", "install", "--quiet", *arguments], check=True)


def test_an_ordinary_user_does_the_main_job_with_an_embedded_postgres(home: Path) -> None:
    account = account_of(NOBODY)
    if not reaches(account, REPOSITORY):
        pytest.skip(f"{account.name} cannot reach {REPOSITORY}")
    mail_server = MailServer()
    with SmtpServer(mail_server) as smtp:
        options: dict[str, Any] = {"python": str(home.parent / "venv/bin/python"), "uid": account.uid}
        with serving(home / "data", {"mail.smtp_url": smtp.url}, **options) as service:
            assert Path(f"/proc/{service.postmaster_pid}").stat().st_uid == account.uid
            assert (home / "data").stat().st_mode & 0o777 == 0o700
            job = do_main_job(service, mail_server, home)
            service.stop()
        with serving(home / "data", {"mail.smtp_url": smtp.url}, **options) as service:
            assert service.usage(job.api_key) == job.usage


def test_a_wheel_serves_an_ordinary_user_from_any_folder(home: Path, tmp_path: Path) -> None:
    wheel = build_wheel(REPOSITORY, tmp_path, 1_763_000_000)
    pip(home.parent, "--no-deps", wheel)
    program, out = home.parent / "venv/bin/catalog-service", tmp_path / "out"
    settings = {**environment({"server.workers": 2}), "HOME": str(home), "XDG_DATA_HOME": ""}
    with out.open("wb") as stdout, (tmp_path / "err").open("wb") as stderr:
        service = subprocess.Popen(
            [program, "serve", "--bind", "127.0.0.1:0"],
            cwd="/",
            env=settings,
            stdout=stdout,
            stderr=stderr,
            **as_user(NOBODY),
        )
    try:
        until(lambda: service.poll() is not None or "listening on" in out.read_text(), 60)
        first, *others = out.read_text().splitlines()
        assert first.endswith(f"data directory {home}/.local/share/catalog-service"), (tmp_path / "err").read_text()
        [url] = [line.removeprefix("listening on ") for line in others if line.startswith("listening on ")]
        assert httpx.get(f"{url}/openapi.json").json()["info"]["x-build"] == VERSION
    finally:
        service.terminate()
        assert service.wait(30) == 0
