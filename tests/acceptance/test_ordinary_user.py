"""The service as an ordinary user, in an installation that such a user can reach. Slow, because it installs one."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from storage.children import account_of
from storage.directories import make_directory, reaches
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import serving
from tests.acceptance.smtp import PostOffice, SmtpServer
from tests.acceptance.story import do_main_job
from tests.slow import SLOW

PYTHON = Path("/usr/bin/python3.11")
NOBODY = 65534


def _can_make_environments() -> bool:
    """Debian's Python may lack venv."""
    if not PYTHON.exists():
        return False
    return subprocess.run([PYTHON, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.skipif(not SLOW, reason="installs anew: make thorough"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; all tests run as an ordinary one"),
    pytest.mark.skipif(SLOW and not _can_make_environments(), reason=f"there is no {PYTHON} with venv"),
]


def test_an_ordinary_user_does_the_main_job_with_an_embedded_postgres(playground: Path) -> None:
    account = account_of(NOBODY)
    place = playground / "ordinary"
    make_directory(place, 0o755)
    subprocess.run([PYTHON, "-m", "venv", place / "venv"], check=True)
    install: list[str | Path] = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "-r",
        REPOSITORY / "requirements/run.lock",
    ]
    subprocess.run([place / "venv/bin/python", *install], check=True)
    if not reaches(account, REPOSITORY):
        pytest.skip(f"{account.name} cannot reach {REPOSITORY}")
    home = place / "home"
    make_directory(home, 0o700)
    shutil.chown(home, account.uid, account.gid)
    office = PostOffice()
    with SmtpServer(office) as smtp:
        options: dict[str, Any] = {"python": str(place / "venv/bin/python"), "uid": account.uid}
        with serving(home / "data", {"mail.smtp_url": smtp.url}, **options) as service:
            assert Path(f"/proc/{service.postmaster_pid}").stat().st_uid == account.uid
            assert (home / "data").stat().st_mode & 0o777 == 0o700
            job = do_main_job(service, office, home)
            service.stop()
        with serving(home / "data", {"mail.smtp_url": smtp.url}, **options) as service:
            assert service.usage(job.api_key) == job.usage
