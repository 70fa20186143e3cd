"""The server's secret, and the keys derived from it for each purpose."""

import hmac
import os
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from service.config.model import Config
from service.config.user_errors import ConfigError


class SecretIdentity(Protocol):
    """Stores the fingerprint of a database's secret."""

    def fingerprint(self) -> Awaitable[bytes | None]: ...
    def claim(self, fingerprint: bytes) -> Awaitable[bytes]: ...


@dataclass(frozen=True, slots=True)
class Secrets:
    """Keys derived from the server's secret. They are never logged or stored."""

    codes: bytes = field(repr=False)
    cursors: bytes = field(repr=False)
    links: bytes = field(repr=False)
    visitors: bytes = field(repr=False)
    webhooks: bytes = field(repr=False)

    @classmethod
    async def load(cls, config: Config, data_dir: Path, identity: SecretIdentity) -> "Secrets":
        """Derive the keys from the configured secret, or from that in the data directory, created for a new database.

        Raises `ConfigError` if the database belongs to another secret, because all its nodes must share one.
        """
        path, everywhere = data_dir / "secret", " on all nodes" if config.database.url else ""
        # Asked before the file is read: a process that starts at the same time stores the file, then claims the database.
        stored = await identity.fingerprint()
        root = config.server.secret.encode() or _stored(path)
        if root is None and stored is not None:
            raise ConfigError(
                f"{path} is missing, and the database is used with it: restore it from a backup, "
                f"or set server.secret{everywhere}"
            )
        root = root or _created(path)
        fingerprint = derived(root, "fingerprint")
        # A database that is used is only read, which a standby allows, too.
        if not hmac.compare_digest(stored or await identity.claim(fingerprint), fingerprint):
            where = "server.secret" if config.server.secret else f"{path}"
            raise ConfigError(
                f"this database is used with another server secret than that of {where}: "
                f"set server.secret to that of the database{everywhere}"
            )
        purposes = ("codes", "cursors", "links", "visitors", "webhooks")
        return cls(**{purpose: derived(root, purpose) for purpose in purposes})


def _stored(path: Path) -> bytes | None:
    """The secret in a file, or None without a file. Raises `ConfigError`."""
    try:
        return _valid(path, path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot read the server's secret in {path}: {error.strerror}") from None


def _created(path: Path) -> bytes:
    """A new secret, stored in a file with mode 0600; the other one if another process does the same. Raises `ConfigError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, secrets.token_hex(32).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(fresh, path)  # never replaces, so processes that start together agree on one file
        except FileExistsError:
            pass
        finally:
            os.unlink(fresh)
        return _valid(path, path.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot store the server's secret in {path}: {error.strerror}") from None


def _valid(path: Path, text: bytes) -> bytes:
    text = text.strip()
    if len(text) < 32:
        raise ConfigError(f"{path} is damaged: it must hold the server's secret of at least 32 characters")
    return text


def derived(root: bytes, purpose: str) -> bytes:
    """The 32-byte key for one purpose."""
    return hmac.digest(root, b"catalog " + purpose.encode(), "sha256")
