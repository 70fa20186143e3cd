"""Lets a listening socket take no new connections before it closes, because the kernel resets those that are queued then.

A client of a connection that is reset has sent its request, and a proxy does not send a POST again. A client whose attempt to
connect is dropped tries again after a second, or elsewhere.
"""

import ctypes
import socket
import struct
import sys
from contextlib import suppress

_ATTACH_FILTER, _DETACH_FILTER = 26, 27
"""`SO_ATTACH_FILTER` and `SO_DETACH_FILTER` of Linux."""

_FLAGS = 13
"""The byte of a TCP header that has the flags."""

_SYN, _ACK = 0x02, 0x10

_NO_SYN = (
    # Code, jumps if true and if false, value: load the flags, keep two of them, compare, drop, pass.
    (0x30, 0, 0, _FLAGS),
    (0x54, 0, 0, _SYN | _ACK),
    (0x15, 0, 1, _SYN),
    (0x06, 0, 0, 0),
    (0x06, 0, 0, 0xFFFF_FFFF),
)
"""A program of classic BPF over a segment from its TCP header on."""


def begin_connecting(listener: socket.socket) -> None:
    """Undo `end_connecting`: a worker that was ended by somebody else may have left it on a socket that its parent keeps."""
    _set(listener, _DETACH_FILTER, bytes(4))


def end_connecting(listener: socket.socket) -> None:
    """Drop attempts to connect. Connections that are being made or queued stay, to be accepted. Does nothing on systems
    without such filters."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _NO_SYN))
    _set(listener, _ATTACH_FILTER, struct.pack("HP", len(_NO_SYN), ctypes.addressof(program)))


def _set(listener: socket.socket, option: int, value: bytes) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, option, value)
