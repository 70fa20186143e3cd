"""Real processes tell a service manager of their start, life, reload and end."""

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.processes import children_of, serving, until
from tests.acceptance.workers import workers_of


class Notices:
    """The service manager's end of a real socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        path.chmod(0o777)  # as systemd's: the service gives up root
        self._socket.settimeout(30)

    def next(self) -> str:
        """The first line of the next message."""
        return self._socket.recv(4_096).decode().partition("\n")[0]

    def next_other_than(self, usual: str) -> str:
        while (line := self.next()) == usual:
            pass
        return line

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def notices(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notices]:
    path = data_dir.parent / "notify"
    monkeypatch.setenv("NOTIFY_SOCKET", str(path))
    monkeypatch.setenv("WATCHDOG_USEC", "400000")
    notices = Notices(path)
    yield notices
    notices.close()


def test_a_node_tells_its_service_manager_of_its_life(data_dir: Path, notices: Notices) -> None:
    with serving(data_dir) as service:
        assert [notices.next() for _ in range(3)] == ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]
        assert service.status("/healthz") == 200
        service.process.send_signal(signal.SIGSTOP)
        until(lambda: _is_silent(notices), what="the end of the signs of life of a process that hangs")
        service.process.send_signal(signal.SIGCONT)
        assert notices.next() == "WATCHDOG=1"
        service.terminate()
        assert notices.next_other_than("WATCHDOG=1") == "STOPPING=1"
        assert service.wait() == 0, service.log()


def _is_silent(notices: Notices) -> bool:
    """Whether no message comes for two watchdog intervals."""
    notices._socket.settimeout(0.8)
    try:
        notices.next()
    except TimeoutError:
        return True
    finally:
        notices._socket.settimeout(30)
    return False


def test_a_parent_tells_of_its_reload_and_no_child_can_speak_for_it(data_dir: Path, notices: Notices) -> None:
    with serving(data_dir, {"server.workers": 2}) as service:
        assert notices.next() == "READY=1"
        environments = {pid: Path(f"/proc/{pid}/environ").read_bytes() for pid in children_of(service.process.pid)}
        assert all(b"CATALOG__SERVER__WORKERS" in environments[pid] for pid in workers_of(service))
        assert not any(b"NOTIFY_SOCKET" in each or b"WATCHDOG" in each for each in environments.values())
        service.process.send_signal(signal.SIGHUP)
        assert notices.next_other_than("WATCHDOG=1") == "RELOADING=1"
        assert notices.next_other_than("WATCHDOG=1") == "READY=1"
        assert "all workers are replaced" in service.log()
        service.terminate()
        assert notices.next_other_than("WATCHDOG=1") == "STOPPING=1"
        assert service.wait() == 0, service.log()
