"""Addresses to listen on, with or without TLS, and what is wrong with those that cannot be used."""

import errno
import os
import socket
import ssl
from dataclasses import dataclass


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
    descriptor: int | None = None
    """The listening socket that another process keeps open there, if it passed one to this."""


def copy_of(descriptor: int) -> socket.socket:
    """A socket that this process may close, of one that it was passed. Both have one queue."""
    copy = socket.socket(fileno=os.dup(descriptor))
    copy.setblocking(False)
    return copy


def cannot_listen(address: ListenAddress, error: OSError | ValueError) -> ListenError:
    """The error for an address. A `ValueError` means that the host name is invalid."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return ListenError(f"{address.setting}: cannot listen on {host}:{address.port}: {_why(address, error)}")


def _why(address: ListenAddress, error: OSError | ValueError) -> str:
    if not isinstance(error, OSError) or isinstance(error, socket.gaierror):
        return "the host name cannot be resolved"
    if error.errno == errno.EACCES:
        return "only root can use a port below 1024: choose another port, or put a proxy in front"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine does not have that address: choose one of its own, or 0.0.0.0 for all"
    if error.errno == errno.EADDRINUSE:
        return "the address is in use by another process: stop it, or choose another port"
    return error.strerror or str(error)


def url_of(host: str, port: int, scheme: str = "http") -> str:
    """The address to open in a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{shown}]:{port}" if ":" in shown else f"{scheme}://{shown}:{port}"
