"""Runs commands in a directory as in a container: own mounts and processes, no capabilities that Docker would not give."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.acceptance.processes import children_of, until

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""Where it exists, steps that download believe these certificates, as they use this machine's resolver and proxies."""

_MOUNTS = """
set -eu
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
if [ -n "${READ_ONLY:-}" ]; then
    mount -o remount,bind,ro "$root"
    mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/tmp"
    for volume in $VOLUMES; do mount --bind "$root$volume" "$root$volume"; mount -o remount,bind,rw "$root$volume"; done
fi
mount -t proc proc "$root/proc"
mount -t tmpfs -o nosuid,mode=755 tmpfs "$root/dev"
for device in null zero full random urandom; do touch "$root/dev/$device"; mount --bind /dev/$device "$root/dev/$device"; done
mkdir "$root/dev/shm"
mount -t tmpfs -o nosuid,nodev,mode=1777,size=64m tmpfs "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
if [ -n "${ONLINE:-}" ]; then
    mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
    if [ -e "$CERTIFICATES" ]; then
        mount -t tmpfs tmpfs "$root/run"
        cp "$CERTIFICATES" "$root/run/certificates.pem"
    fi
else
    ip link set lo up
fi
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A command's environment, working directory, and user as UID:GID."""

    variables: Mapping[str, str]
    folder: str
    user: str

    def enter(self, root: Path, command: Sequence[str]) -> list[str]:
        """The words that run `command` in `root`, without capabilities unless it is root's."""
        variables = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in self.variables.items())]
        folder = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', self.folder]
        user, _, group = self.user.partition(":")
        bare = ["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"] if user != "0" else []
        become = ["/usr/bin/setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *bare]
        return ["chroot", str(root), *become, *variables, *folder, *command]


def _apart(root: Path, *more: str) -> list[str]:
    """The words that run the words after them in namespaces of their own, over the mounts of `root`."""
    return ["unshare", "--mount", "--pid", *more, "--fork", "--kill-child", "sh", "-c", _MOUNTS, "sh", str(root)]


def build(root: Path, command: Sequence[str], surroundings: Surroundings) -> None:
    """Run a step that may change `root` and use the network. Raises `CalledProcessError` if it fails."""
    online = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    if CERTIFICATES.exists():
        online["PIP_CERT"] = "/run/certificates.pem"
    inside = replace(surroundings, variables={**surroundings.variables, **online})
    subprocess.run(
        [*_apart(root), *inside.enter(root, command)],
        env={**os.environ, "ONLINE": "1", "CERTIFICATES": str(CERTIFICATES)},
        stdin=subprocess.DEVNULL,
        check=True,
    )


class Container:
    """A process that runs in a read-only root without a network but its own loopback."""

    def __init__(self, root: Path, surroundings: Surroundings, process: subprocess.Popen[bytes]) -> None:
        self._root, self._surroundings, self.process = root, surroundings, process
        until(lambda: children_of(process.pid), what="the container")
        [self.pid] = children_of(process.pid)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run another command in it, as `docker exec` does."""
        beside = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--net"]
        return subprocess.run(
            [*beside, *self._surroundings.enter(self._root, command)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def stop(self, number: int, seconds: float) -> int:
        """Stop it as `docker stop` does. Returns its exit code."""
        os.kill(self.pid, number)
        return self.process.wait(seconds)


@contextmanager
def container(
    root: Path, command: Sequence[str], surroundings: Surroundings, volumes: Sequence[str]
) -> Iterator[Container]:
    """Run `command` as the first process of a container during the block."""
    process = subprocess.Popen(
        [*_apart(root, "--net"), *surroundings.enter(root, command)],
        env={**os.environ, "READ_ONLY": "1", "VOLUMES": " ".join(volumes)},
        stdin=subprocess.DEVNULL,
    )
    try:
        yield Container(root, surroundings, process)
    finally:
        # --kill-child does not outlast a change of the user.
        for pid in children_of(process.pid) if process.poll() is None else []:
            os.kill(pid, signal.SIGKILL)
        process.wait()
