"""Messages to the service manager, over a real datagram socket, in virtual time."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from service.config.loading import load
from service.http.listen_address import ListenError
from service.running import service_manager
from service.running.service_manager import PassedSockets, ServiceManager


class Listener:
    """The service manager's end."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.setblocking(False)

    def messages(self) -> list[dict[str, str]]:
        """The messages since the last call."""
        found: list[dict[str, str]] = []
        while True:
            try:
                text = self.socket.recv(4_096).decode()
            except BlockingIOError:
                return found
            found.append(dict(line.split("=", 1) for line in text.split("\n")))


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    listener = Listener(str(tmp_path / "notify"))
    with listener.socket:
        yield listener


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(tmp_path / "notify"), "PATH": "/bin"}


def test_its_variables_are_removed_so_that_no_child_inherits_them(environment: dict[str, str]) -> None:
    environment |= {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    ServiceManager.from_environment(environment)
    assert environment == {"PATH": "/bin"}


async def test_readiness_and_the_stop_are_reported_once(listener: Listener, environment: dict[str, str]) -> None:
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ServiceManager.from_environment(environment).serve_watchdog, stop, "serving")
        await trio.testing.wait_all_tasks_blocked()
        assert listener.messages() == [{"READY": "1", "STATUS": "serving"}]
        stop.set()
    [message] = listener.messages()
    assert message["STOPPING"] == "1"


async def test_the_watchdog_hears_twice_in_each_interval_while_the_service_is_healthy(
    listener: Listener, environment: dict[str, str], autojump_clock: MockClock
) -> None:
    environment["WATCHDOG_USEC"] = "10000000"
    healthy, checks, stop = True, 0, trio.Event()

    async def is_healthy() -> bool:
        nonlocal checks
        checks += 1
        return healthy

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ServiceManager.from_environment(environment).serve_watchdog, stop, "serving", is_healthy)
        await trio.sleep(29.5)
        assert listener.messages()[1:] == [{"WATCHDOG": "1"}] * 6
        healthy = False
        await trio.sleep(20)
        assert listener.messages() == []
        assert checks == 6 + 20, "one that is not healthy is asked every second"
        healthy = True
        await trio.sleep(2)
        assert listener.messages() == [{"WATCHDOG": "1"}]
        stop.set()
    await trio.sleep(20)
    assert [message.get("WATCHDOG") for message in listener.messages()] == [None]


async def test_a_watchdog_of_another_process_is_not_fed(
    listener: Listener, environment: dict[str, str], autojump_clock: MockClock
) -> None:
    environment |= {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    with trio.move_on_after(10):
        await ServiceManager.from_environment(environment).serve_watchdog(trio.Event(), "serving")
    assert len(listener.messages()) == 1


def test_a_reload_is_reported_with_its_time_and_its_end(listener: Listener, environment: dict[str, str]) -> None:
    with ServiceManager.from_environment(environment).reloading():
        [message] = listener.messages()
        assert message["RELOADING"] == "1"
        assert 0 < int(message["MONOTONIC_USEC"]) < 1 << 63
    assert listener.messages() == [{"READY": "1"}]


def test_a_reload_that_is_cut_off_reports_no_end(listener: Listener, environment: dict[str, str]) -> None:
    with pytest.raises(ConnectionError), ServiceManager.from_environment(environment).reloading():
        raise ConnectionError
    assert ["READY" in message for message in listener.messages()] == [False]


def test_a_name_after_an_at_sign_is_in_the_abstract_namespace(tmp_path: Path) -> None:
    name = f"catalog-{tmp_path}"[:100]
    listener = Listener("\0" + name)
    with listener.socket, ServiceManager(f"@{name}").reloading():
        assert len(listener.messages()) == 1


@pytest.mark.parametrize("address", ["vsock:2:1234", "relative"])
def test_an_address_of_another_kind_is_named_and_not_used(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with ServiceManager.from_environment({"NOTIFY_SOCKET": address}).reloading():
        pass
    assert caplog.messages == [
        f"NOTIFY_SOCKET is neither a path nor an abstract name, so nothing is sent to it: {address}"
    ]


def test_a_socket_that_nobody_reads_is_a_warning_and_stops_nothing(
    listener: Listener, environment: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    manager = ServiceManager.from_environment(environment)
    while not caplog.messages:  # until the queue is full
        with manager.reloading():
            pass
    assert "Resource temporarily unavailable" in caplog.messages[0]
    listener.socket.close()
    with manager.reloading():
        pass
    assert "Connection refused" in caplog.messages[-1]


def test_a_service_that_nobody_manages_sends_nothing() -> None:
    manager = ServiceManager.from_environment({})
    with manager.reloading():
        pass


# Sockets that it passes.

CONFIG = load(None, {"CATALOG__SERVER__OPS_BIND": "127.0.0.1:1"})


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The first socket that is passed."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        monkeypatch.setattr(service_manager, "FIRST_DESCRIPTOR", made.fileno())
        yield made


def passed_as(name: str, pid: object = "") -> PassedSockets:
    environment = {"LISTEN_FDS": "1", "LISTEN_PID": str(pid or os.getpid()), "LISTEN_FDNAMES": name}
    passed = PassedSockets.from_environment(environment)
    assert environment == {}, "no child process takes them for its own"
    return passed


@pytest.mark.parametrize(("name", "setting"), [("web", "server.bind"), ("", "server.bind"), ("ops", "server.ops_bind")])
def test_a_socket_takes_the_address_of_its_setting(first: socket.socket, name: str, setting: str) -> None:
    passed, bind = passed_as(name), f"127.0.0.1:{first.getsockname()[1]}"
    config = passed.applied(CONFIG)
    section, field = setting.split(".")
    assert getattr(getattr(config, section), field) == bind
    [address] = passed.addresses(setting, bind)
    assert address.descriptor == first.fileno()


def test_sockets_of_another_process_are_ignored(first: socket.socket) -> None:
    assert passed_as("web", 1).applied(CONFIG) is CONFIG


def test_a_socket_that_cannot_be_used_is_refused_with_one_line(first: socket.socket, tmp_path: Path) -> None:
    with pytest.raises(ListenError, match=r"^tls.bind: a socket for it was passed \(LISTEN_FDNAMES\), but it is empty"):
        passed_as("tls").applied(CONFIG)
    for kind, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, str(tmp_path / "unix"))):
        with socket.socket(kind) as other:
            other.bind(address)
            if kind == socket.AF_UNIX:
                other.listen()
            os.dup2(other.fileno(), first.fileno())
        with pytest.raises(
            ListenError, match=r"^server.bind: descriptor \d+ \(LISTEN_FDS\) is not a listening socket of TCP$"
        ):
            passed_as("web").applied(CONFIG)
