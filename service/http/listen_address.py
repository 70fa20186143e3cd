"""Addresses to listen on, with or without TLS, and what is wrong with those that cannot be used."""

import ssl
from dataclasses import dataclass
from pathlib import Path


class ListenError(Exception):
    """The server cannot listen as configured. The text is one line for the operator."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A host (all of its addresses), a port (0 takes a free one), and TLS or not."""

    host: str
    port: int
    setting: str = "server.bind"
    """The setting to change when the address cannot be used."""
    tls: ssl.SSLContext | None = None
    certificate_expires: float | None = None
    """The Unix time in seconds at which its certificate expires, if it has one that can be read."""


def cannot_listen(address: ListenAddress, error: OSError | ValueError) -> ListenError:
    """The error for an address. A `ValueError` means that the host name is invalid."""
    why = error.strerror if isinstance(error, OSError) else "no host has such a name"
    host = f"[{address.host}]" if ":" in address.host else address.host
    return ListenError(f"{address.setting}: cannot listen on {host}:{address.port}: {why}")


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 or newer for a server, offering HTTP/2 and HTTP/1.1. Raises `ListenError` for files that cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except OSError as error:
        raise ListenError(f"tls.certificate, tls.key: {error.strerror or error.args[-1]}") from None
    except ValueError as error:
        raise ListenError(f"tls.certificate, tls.key: {error}") from None  # for example a null byte in a path
    return context


def url_of(host: str, port: int, scheme: str = "http") -> str:
    """The address to open in a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{shown}]:{port}" if ":" in shown else f"{scheme}://{shown}:{port}"
