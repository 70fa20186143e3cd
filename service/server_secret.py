"""The server's secret, and the keys derived from it for each purpose."""

import hmac
import os
import secrets
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from service.user_errors import ConfigError


class SecretIdentity(Protocol):
    """Stores the fingerprint of a database's secret."""

    def claim(self, fingerprint: bytes) -> Awaitable[bytes]: ...


@dataclass(frozen=True, slots=True)
class Secrets:
    """Keys derived from the server's secret. They are never logged or stored."""

    codes: bytes = field(repr=False)
    cursors: bytes = field(repr=False)
    links: bytes = field(repr=False)
    visitors: bytes = field(repr=False)

    @classmethod
    async def load(cls, configured: str, data_dir: Path, identity: SecretIdentity) -> "Secrets":
        """Derive the keys from the configured secret, or from one created once in the data directory.

        Raises `ConfigError` if the database belongs to another secret, because all its nodes must share one.
        """
        root = configured.encode() if configured else _stored(data_dir / "secret")
        fingerprint = derived(root, "fingerprint")
        if not hmac.compare_digest(await identity.claim(fingerprint), fingerprint):
            where = "server.secret" if configured else f"{data_dir / 'secret'}"
            raise ConfigError(
                f"this database is used with another server secret than that of {where}: "
                "set server.secret to the same text on all nodes"
            )
        return cls(**{purpose: derived(root, purpose) for purpose in ("codes", "cursors", "links", "visitors")})


def _stored(path: Path) -> bytes:
    """The secret in a file, created with mode 0600 if missing. Raises `ConfigError`."""
    try:
        # Once it has given up root, a node may read the secret, and write nothing here.
        with suppress(FileNotFoundError):
            return _valid(path, path.read_bytes())
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
