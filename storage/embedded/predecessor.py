"""The Postgres that an earlier process ran on a cluster: its pid file, its sockets, and how to stop it."""

import logging
import os
import re
import signal
from pathlib import Path

import trio

from storage.embedded.children import EmbeddedError, pidfd
from storage.embedded.cluster import QUIT_SECONDS, Cluster
from storage.embedded.directories import explained

log = logging.getLogger("storage.embedded.server")


def recorded_sockets(cluster_directory: Path) -> Path | None:
    """The socket directory in the pid file of a running Postgres, or None."""
    lines = _pid_file_lines(cluster_directory)
    return Path(lines[4]) if len(lines) > 4 and lines[4] else None


def _pid_file_lines(cluster_directory: Path) -> list[str]:
    try:
        return (cluster_directory / "postmaster.pid").read_text(errors="surrogateescape").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return []


async def stop_predecessor(cluster: Cluster, stop_seconds: float) -> None:
    """Stop the Postgres that a killed service left running, and remove its pid file. The caller holds the lock.

    Without pidfd (outside Linux) nothing is done: Postgres itself refuses to start beside a running process.
    """
    lines = _pid_file_lines(cluster.directory)
    pid = int(lines[0]) if lines and re.fullmatch(r"[1-9]\d{0,8}", lines[0]) else None
    try:
        # Open the descriptor before looking at the process, so that a reused pid is never signalled.
        descriptor = pidfd(pid) if pid else None
    except ProcessLookupError:
        descriptor = None
    except OSError:
        return
    if pid and descriptor is not None:
        try:
            if _is_postmaster(pid, cluster):
                await _end(pid, descriptor, stop_seconds)
        finally:
            os.close(descriptor)
    with explained(cluster.directory):
        for stale in (cluster.directory / "postmaster.pid", cluster.socket, Path(f"{cluster.socket}.lock")):
            stale.unlink(missing_ok=True)


def _is_postmaster(pid: int, cluster: Cluster) -> bool:
    """Whether the process is this cluster's Postgres, judged by its owner and command line, which any user may read."""
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    named = os.path.basename(command[0]) == b"postgres" and os.fsencode(cluster.directory) in command
    return named and owner == cluster.account.uid


async def _end(pid: int, descriptor: int, stop_seconds: float) -> None:
    log.warning("an earlier process left Postgres running as pid %d: stopping it", pid)
    for order, seconds in ((signal.SIGINT, stop_seconds), (signal.SIGQUIT, QUIT_SECONDS)):
        try:
            signal.pidfd_send_signal(descriptor, order)
        except ProcessLookupError:
            return
        with trio.move_on_after(seconds):
            await trio.lowlevel.wait_readable(descriptor)
            return
    raise EmbeddedError(f"an earlier Postgres (pid {pid}) does not stop: end it with kill -9 {pid}")
