"""Child processes of the embedded Postgres: the user they run as, how they start, and how they end.

Must not know what a cluster is or where it lives.
"""

import errno
import math
import os
import pwd
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import trio

# The child drops its privileges and sets its parent-death signal in a fresh interpreter, because `preexec_fn` is not safe
# in a process with threads. The signal is set last, because changing the user clears it.
_LAUNCHER = """
import ctypes, os, sys
parent, death_signal, niceness, uid, gid, groups, *command = sys.argv[1:]
os.nice(int(niceness))
if os.geteuid() == 0:
    os.setgroups([int(group) for group in groups.split(",")])
    os.setresgid(int(gid), int(gid), int(gid))
    os.setresuid(int(uid), int(uid), int(uid))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(death_signal), 0, 0, 0)
if os.getppid() != int(parent):
    sys.exit("the parent ended before the start")
os.execv(command[0], command)
"""


WATCH_SECONDS = 0.2
REAP_SECONDS = 1.0
"""Time for a killed child to end. One that waits for a disk that hangs ends when the disk answers."""
FULL_DISK_ADVICE = "the file system of the data directory, or /dev/shm, is full: make room on it"


class EmbeddedError(Exception):
    """The embedded Postgres cannot run. The text is one line for the operator: what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """An OS user."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]


def server_account(os_user: str | None) -> Account:
    """The OS user that runs Postgres: the service's own, or an unprivileged one if the service is root."""
    own = account_of(os.geteuid())
    if own.uid != 0:
        if os_user not in (None, own.name):
            raise EmbeddedError(f"Postgres cannot run as {os_user!r}: only root can choose, this is {own.name!r}")
        return own
    for name in (os_user,) if os_user else ("postgres", "nobody"):
        account = _account_named(name)
        if account and account.uid != 0:
            return account
    wanted = f"OS user {os_user!r}" if os_user else "OS user 'postgres' or 'nobody'"
    raise EmbeddedError(
        f"Postgres cannot run as root, and there is no unprivileged {wanted}: create it, or set server.user"
    )


def account_of(uid: int) -> Account:
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        hint = "Postgres needs a name for peer authentication; add one or run as another user"
        raise EmbeddedError(f"the user id {uid} has no entry in /etc/passwd: {hint}") from None
    account = _account_named(name)
    assert account is not None, name
    return account


def _account_named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name, entry.pw_uid, entry.pw_gid, tuple(os.getgrouplist(name, entry.pw_gid)))


def spawn(
    command: Sequence[str | Path],
    account: Account,
    death_signal: signal.Signals,
    output: int,
    stdin: int = subprocess.DEVNULL,
    niceness: int = 0,
) -> subprocess.Popen[bytes]:
    """Start `command` as `account` in a new session. If this process dies, the child gets `death_signal`. `niceness` is 0
    to 19; with a higher one, it yields the processor to others.

    Call it from the thread that runs Trio, never from a worker: Linux sends the signal when the *thread* ends.
    """
    rights = (os.getpid(), int(death_signal), niceness, account.uid, account.gid, ",".join(map(str, account.groups)))
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *map(str, rights), *(os.fspath(part) for part in command)],
        stdin=stdin,
        stdout=output,
        stderr=output,
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C"},
        umask=0o077,
        start_new_session=True,
    )


async def wait_exit(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a child, reap it, and return its exit code."""
    while process.poll() is None:
        try:
            descriptor = pidfd(process.pid)
        except OSError:  # not Linux, or a sandbox without the system call
            await trio.sleep(0.05)
            continue
        try:
            await trio.lowlevel.wait_readable(descriptor)
        finally:
            os.close(descriptor)
    return process.wait()


def pidfd(pid: int) -> int:
    """A descriptor that becomes readable when the process ends. Raises `OSError` if the system has none."""
    if sys.platform == "linux":
        return os.pidfd_open(pid)
    raise OSError(errno.ENOSYS, "no pidfd")


def main_error(lines: Iterable[str]) -> str:
    """The first line that names an error, with the first hint, or else the last line. A full disk has a hint of ours."""
    text = "\n".join(line.strip() for line in lines)
    wrong = re.search(r"\b(PANIC|FATAL|ERROR|error):.*", text)
    hint = re.search(r"\bHINT: *(.*)", text)
    line = wrong[0] if wrong else (text.split("\n")[-1] or "no output")
    advice = FULL_DISK_ADVICE if os.strerror(errno.ENOSPC) in line else hint and hint[1]
    return f"{line} ({advice})" if advice else line


async def run(
    command: Sequence[str | Path],
    account: Account,
    stdin: bytes | IO[bytes] = b"",
    niceness: int = 0,
    *,
    watch: Callable[[], None] | None = None,
) -> None:
    """Run a command to its end. Raises `EmbeddedError` with its main error if it fails. If cancelled, kills it and waits
    at most `REAP_SECONDS` for its end.

    Calls `watch` every `WATCH_SECONDS` until then, for example to see how far the command has read its standard input.
    """
    with tempfile.TemporaryFile() as output, _input(stdin) as source:
        process = spawn(command, account, signal.SIGKILL, output.fileno(), source.fileno(), niceness)
        try:
            code = None
            while code is None:
                with trio.move_on_after(WATCH_SECONDS if watch else math.inf):
                    code = await wait_exit(process)
                if watch:
                    watch()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                with trio.move_on_after(REAP_SECONDS, shield=True):
                    await wait_exit(process)
        if code != 0:
            raise EmbeddedError(f"{Path(command[0]).name} failed: {main_error(_lines(output))}")


@contextmanager
def _input(stdin: bytes | IO[bytes]) -> Iterator[IO[bytes]]:
    """An open file for standard input, which the caller closes if it has opened it."""
    if not isinstance(stdin, bytes):
        yield stdin
        return
    with tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        yield source


def _lines(output: IO[bytes]) -> list[str]:
    output.seek(0)
    return output.read().decode(errors="replace").splitlines()
