"""Stores the keys of logins, one per service, in a file that only its owner can read.

A key is looked up by the full address of its service, so it is never sent to another one.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from service.catalogctl.client import text_of
from service.catalogctl.failures import Misused

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FILE, LOCK, NEW = "credentials.json", "credentials.lock", "credentials.new"
VERSION = 1
FILE_BYTES = 1024 * 1024
FILE_MODE, DIRECTORY_MODE = 0o600, 0o700
WIDER = 0o077
NOFOLLOW, NONBLOCK = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
"""Symbolic links are refused, and opening a pipe does not wait for its writer."""
LOCK_TRIES, LOCK_PAUSE_SECONDS = 100, 0.02


class Credential(NamedTuple):
    """The key that a login returned."""

    api_key: str
    key_prefix: str = ""
    tenant_id: str = ""

    def __repr__(self) -> str:
        return f"<credential {self.key_prefix}>"  # without the key


class Saved(NamedTuple):
    """All credentials by the address of their service. `current` is the service of the last login."""

    current: str | None = None
    credentials: Mapping[str, Credential] = {}

    def with_one(self, base: str, credential: Credential) -> "Saved":
        return Saved(base, {**self.credentials, base: credential})

    def without(self, base: str) -> "Saved":
        left = {other: credential for other, credential in self.credentials.items() if other != base}
        current = next(iter(left), None) if self.current == base else self.current
        return Saved(current, left)


def directory_of(environment: Mapping[str, str]) -> Path:
    """`catalogctl` in the user's configuration directory. Raises `Misused` if there is none."""
    chosen = Path(environment.get("XDG_CONFIG_HOME") or "")
    if chosen.is_absolute():
        return chosen / "catalogctl"
    home = environment.get("HOME") or os.path.expanduser("~")
    if not Path(home).is_absolute():
        raise Misused("there is no home directory to store a login in; set XDG_CONFIG_HOME")
    return Path(home) / ".config" / "catalogctl"


class Keyring(NamedTuple):
    """The credentials file in `directory`. `warn` receives warnings. Raises `Misused` if the file cannot be used."""

    directory: Path
    warn: Callable[[str], None]

    def read(self) -> Saved:
        """The saved credentials; none if there is no file yet."""
        with self._errors_as_misused("read"):
            try:
                descriptor = os.open(self.directory / FILE, os.O_RDONLY | NOFOLLOW | NONBLOCK)
            except FileNotFoundError:
                return Saved()
            try:
                self._mend(descriptor)
                with open(descriptor, "rb", closefd=False) as file:
                    text = file.read(FILE_BYTES + 1)
            finally:
                os.close(descriptor)
        return self._parsed(text)

    def change(self, change: Callable[[Saved], Saved]) -> None:
        """Replace the saved credentials by the result of `change`, atomically and under a lock."""
        with self._errors_as_misused("write"), self._alone():
            self._write(change(self.read()))

    def prepare(self) -> None:
        """Check that credentials can be saved, before a login."""
        self.change(lambda saved: saved)

    def _write(self, saved: Saved) -> None:
        document = {
            "version": VERSION,
            "current": saved.current,
            "services": {base: credential._asdict() for base, credential in saved.credentials.items()},
        }
        new = self.directory / NEW
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.directory / FILE)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the directory against other `catalogctl` processes. Raises `Misused` if it stays locked for two seconds."""
        self.directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        descriptor = os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            for _ in range(LOCK_TRIES if fcntl else 0):
                with suppress(BlockingIOError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(LOCK_PAUSE_SECONDS)
            else:
                if fcntl:
                    raise Misused(f"{self.directory} is locked by another catalogctl; try again")
            yield
        finally:
            os.close(descriptor)

    def _mend(self, descriptor: int) -> None:
        """Check that the file is the user's own, and remove access of other users to it and its directory."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Misused(f"{self.directory / FILE} is not a regular file")
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise Misused(f"{self.directory / FILE} belongs to another user")
        if os.name != "posix":
            return
        if status.st_mode & WIDER:
            os.fchmod(descriptor, FILE_MODE)
            self._warn_of(FILE_MODE, self.directory / FILE)
        if self.directory.stat().st_mode & WIDER:
            self.directory.chmod(DIRECTORY_MODE)
            self._warn_of(DIRECTORY_MODE, self.directory)

    def _warn_of(self, mode: int, path: Path) -> None:
        self.warn(
            f"{path} was accessible to other users; its mode is now {mode:04o}. If others use this machine, revoke the key."
        )

    def _parsed(self, text: bytes) -> Saved:
        try:
            document = json.loads(text) if len(text) <= FILE_BYTES else None
            assert isinstance(document, dict)
            services = document["services"]
            credentials = {base: _credential(each) for base, each in services.items()}
            current = document["current"]
            assert document["version"] == VERSION
            assert current is None or current in credentials
        except (ValueError, RecursionError, AssertionError, LookupError, AttributeError, TypeError):
            path = self.directory / FILE
            raise Misused(f"{path} is damaged or of another version; remove it and log in again") from None
        return Saved(current, credentials)

    @contextmanager
    def _errors_as_misused(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Misused(f"cannot {action} {error.filename or self.directory}: {error.strerror}") from None


def _credential(document: dict[str, Any]) -> Credential:
    key = text_of(document, "api_key")
    if not key:
        raise ValueError("a credential without a key")
    return Credential(key, text_of(document, "key_prefix"), text_of(document, "tenant_id"))
