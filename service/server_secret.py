"""The server's secret, and what is derived from it: one key a purpose."""

import hmac
import os
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from service.user_errors import ConfigError


class SecretIdentity(Protocol):
    """Where the fingerprint of a database's secret is kept."""

    def claim(self, fingerprint: bytes) -> Awaitable[bytes]: ...


@dataclass(frozen=True, slots=True)
class Secrets:
    """Keys derived from the server's secret. Nothing here is ever logged or stored."""

    codes: bytes = field(repr=False)
    cursors: bytes = field(repr=False)
    links: bytes = field(repr=False)
    visitors: bytes = field(repr=False)

    @classmethod
    async def load(cls, configured: str, data_dir: Path, identity: SecretIdentity) -> "Secrets":
        """From the configuration, or made once and kept in the data directory.

        Raises `ConfigError` when the database is used with another secret: nodes that share one must share the other.
        """
        root = configured.encode() if configured else kept(data_dir / "secret")
        fingerprint = derived(root, "fingerprint")
        if not hmac.compare_digest(await identity.claim(fingerprint), fingerprint):
            where = "server.secret" if configured else f"{data_dir / 'secret'}"
            raise ConfigError(
                f"this database is used with another server secret than that of {where}: "
                "set server.secret to the same text on all nodes"
            )
        return cls(**{purpose: derived(root, purpose) for purpose in ("codes", "cursors", "links", "visitors")})


def kept(path: Path) -> bytes:
    """The secret in a file, made with mode 0600 where there is none. Raises `ConfigError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, secrets.token_hex(32).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            # A link never replaces: of two processes that start at once, one file wins whole.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(fresh)
        text = path.read_bytes().strip()
    except OSError as error:
        raise ConfigError(f"cannot keep the server's secret in {path}: {error.strerror}") from None
    if len(text) < 32:
        raise ConfigError(f"{path} is damaged: it must hold the server's secret of at least 32 characters")
    return text


def derived(root: bytes, purpose: str) -> bytes:
    """The key of 32 bytes for one purpose."""
    return hmac.digest(root, b"catalog " + purpose.encode(), "sha256")
