"""A start after a kill takes over what was left, and two services never share a directory."""

import os
import signal
from pathlib import Path

from tests.acceptance.processes import complaint, is_alive, run, serving, until


def test_the_next_start_takes_over_from_a_killed_service_whose_postgres_still_runs(data_dir: Path) -> None:
    with serving(data_dir) as first:
        key = first.mint()["apiKey"]
        assert first.status("/api/v1/bots", key) == 200
        orphan = first.postmaster_pid
        # Suspended, so that it does not end with its parent.
        os.kill(orphan, signal.SIGSTOP)
        first.kill()
    with serving(data_dir, wait=False) as second:
        words = f"an earlier process left Postgres running as pid {orphan}"
        until(lambda: words in second.log(), what="the orphan to be found")
        assert is_alive(orphan)
        os.kill(orphan, signal.SIGCONT)
        second.wait_ready()
        assert not is_alive(orphan)
        assert second.postmaster_pid != orphan
        assert second.usage(key)["requestsUsed"] == 1


def test_the_next_start_takes_over_when_both_the_service_and_its_postgres_were_killed(data_dir: Path) -> None:
    with serving(data_dir) as first:
        key = first.mint()["apiKey"]
        assert first.status("/api/v1/bots", key) == 200
        postmaster = first.postmaster_pid
        os.kill(postmaster, signal.SIGSTOP)
        first.kill()
        os.kill(postmaster, signal.SIGKILL)
        assert (data_dir / "postgres" / "postmaster.pid").exists(), "what it leaves behind looks like a running one"
    with serving(data_dir) as second:
        assert second.usage(key)["requestsUsed"] == 1
        refused = complaint(run("serve", "--bind", "127.0.0.1:0", "--data-dir", data_dir))
        assert f"another process (pid {second.process.pid}) uses the data directory {data_dir}" in refused
        assert second.is_ready()
        assert second.usage(key)["requestsUsed"] == 1
