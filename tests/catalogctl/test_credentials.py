"""The credentials file: its modes, its changes, and refused files."""

import codecs
import io
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from service.catalogctl.client import Reply
from service.catalogctl.credentials import Credential, Keyring, Saved, directory_of
from service.catalogctl.failures import Misused
from service.catalogctl.session import Format, Printer
from tests.catalogctl.stage import Stage, logged_in, saved, says, scripted

ONE, OTHER = "https://one.example.com", "https://other.example.com"
USAGE = says(200, {"tenantId": "ten_1", "status": "claimed", "keyPrefix": "cs_user_of_t"})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def keyring(place: Path) -> tuple[Keyring, list[str]]:
    warnings: list[str] = []
    return Keyring(place / "catalogctl", warnings.append), warnings


def test_saved_credentials_are_read_back_and_private(tmp_path: Path) -> None:
    ring, warnings = keyring(tmp_path / "new" / "config")
    assert ring.read() == Saved()
    ring.change(lambda saved: saved.with_one(ONE, Credential("k1", "p1", "t1")))
    ring.change(lambda saved: saved.with_one(OTHER, Credential("k2")))
    assert ring.read() == Saved(OTHER, {ONE: Credential("k1", "p1", "t1"), OTHER: Credential("k2")})
    assert mode(ring.directory) == 0o700
    assert [mode(path) for path in sorted(ring.directory.iterdir())] == [0o600, 0o600]
    assert warnings == []


def test_the_repr_of_credentials_does_not_show_the_key() -> None:
    assert "secret" not in repr(Saved(ONE, {ONE: Credential("secret")}))


def test_a_file_that_others_can_read_is_made_private_with_a_warning(tmp_path: Path) -> None:
    ring, warnings = keyring(tmp_path)
    ring.change(lambda saved: saved.with_one(ONE, Credential("k1")))
    (ring.directory / "credentials.json").chmod(0o644)
    ring.directory.chmod(0o755)
    assert ring.read().credentials == {ONE: Credential("k1")}
    assert (mode(ring.directory), mode(ring.directory / "credentials.json")) == (0o700, 0o600)
    assert [number for words in warnings for number in ("0600", "0700") if number in words] == ["0600", "0700"]
    ring.read()
    assert len(warnings) == 2


def test_concurrent_changes_are_all_kept(tmp_path: Path) -> None:
    ring, _ = keyring(tmp_path)
    urls = [f"https://{number}.example.com" for number in range(12)]
    threads = [
        threading.Thread(target=ring.change, args=(lambda saved, url=url: saved.with_one(url, Credential(url)),))
        for url in urls
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert set(ring.read().credentials) == set(urls)


def test_a_failed_change_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    ring, _ = keyring(tmp_path)
    ring.change(lambda saved: saved.with_one(ONE, Credential("k1")))

    def fail(saved: Saved) -> Saved:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ring.change(fail)
    (ring.directory / "credentials.new").write_text("what a process that was killed has left")
    ring.change(lambda saved: saved.with_one(OTHER, Credential("k2")))
    assert set(ring.read().credentials) == {ONE, OTHER}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 5_000,
        "{}",
        '{"version": 2, "current": null, "services": {}}',
        '{"version": 1, "current": "https://one.example.com", "services": {}}',
        '{"version": 1, "current": null, "services": {"https://one.example.com": {"api_key": 7}}}',
        '{"version": 1, "current": null, "services": []}',
        "\x00" * 2_000_000,
    ],
)
def test_a_damaged_file_is_refused_and_not_changed(stage: Stage, text: str) -> None:
    stage.file.parent.mkdir(mode=0o700, parents=True)
    stage.file.write_text(text)
    stage.file.chmod(0o600)
    for command in ("usage", "login"):
        assert stage.run(command, "--url", ONE) == 2
        assert stage.err == (f"catalogctl: {stage.file} is damaged or of another version; remove it and log in again\n")
    assert stage.file.read_text() == text


def test_a_symbolic_link_instead_of_the_file_is_not_followed(stage: Stage, tmp_path: Path) -> None:
    logged_in(stage, ONE)
    stage.file.rename(tmp_path / "elsewhere.json")
    stage.file.symlink_to(tmp_path / "elsewhere.json")
    assert stage.run("usage") == 2
    assert stage.err.startswith(f"catalogctl: cannot read {stage.file}: ")


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: os.mkfifo(path, 0o600)], ids=["directory", "pipe"])
def test_what_is_no_file_is_refused_without_waiting_for_it(stage: Stage, make: Callable[[Path], None]) -> None:
    stage.file.parent.mkdir(mode=0o700, parents=True)
    make(stage.file)
    for command in ("usage", "login"):
        assert stage.run(command, "--url", ONE) == 2
        assert stage.err == f"catalogctl: {stage.file} is not a regular file\n"


@pytest.mark.parametrize("name", ["credentials.lock", "credentials.new"])
def test_a_directory_in_the_place_of_a_file_of_its_own_is_named(stage: Stage, name: str) -> None:
    place = stage.file.with_name(name)
    place.mkdir(parents=True)
    assert stage.run("login", "--url", ONE) == 2
    assert stage.err == f"catalogctl: cannot write {place}: Is a directory\n"


def test_a_directory_that_is_a_file_is_named(stage: Stage) -> None:
    stage.home.mkdir()
    stage.file.parent.write_text("")
    assert stage.run("usage", "--url", ONE) == 2
    assert stage.err == f"catalogctl: cannot read {stage.file}: Not a directory\n"


def test_a_file_with_a_byte_order_mark_is_read(stage: Stage) -> None:
    logged_in(stage, ONE)
    stage.file.write_bytes(codecs.BOM_UTF8 + stage.file.read_bytes())
    assert Keyring(stage.file.parent, lambda words: None).read().current == ONE


@pytest.mark.parametrize("format", list(Format))
@pytest.mark.parametrize(
    ("secret", "before", "text", "after", "words"),
    [
        ("whsec_1", 0o644, "", 0o600, "was readable by other users; its mode is now 0600"),
        ("whsec_1", 0o664, "", 0o600, "was readable by other users; its mode is now 0600"),
        ("whsec_1", 0o640, "", 0o640, "is readable by other users; make it private"),
        ("whsec_1", 0o644, "older\n", 0o644, "is readable by other users; make it private"),
        ("whsec_1", 0o600, "", 0o600, ""),
        (None, 0o644, "", 0o644, ""),
    ],
)
def test_a_secret_is_written_to_a_private_file_or_with_a_warning(
    tmp_path: Path, format: Format, secret: str | None, before: int, text: str, after: int, words: str
) -> None:
    path, err = tmp_path / "out", io.StringIO()
    path.write_text(text)
    path.chmod(before)
    with open(path, "a") as out:
        printer = Printer(out, err, format)
        printer.show(Reply(200, {}, json.dumps({"id": "whk_1", "secret": secret}).encode()), ["shown"])
    assert (mode(path), path.read_text().startswith(text)) == (after, True)
    assert words in err.getvalue()
    assert bool(words) == bool(err.getvalue())


def test_a_key_is_sent_only_to_the_service_that_issued_it(stage: Stage) -> None:
    with scripted(USAGE) as ours, scripted(says(200, {"data": [], "nextCursor": None})) as other:
        logged_in(stage, ours.url)
        assert stage.run("usage") == 0
        assert stage.run("usage", "--url", other.url) == 5
        assert f"you are not logged in to {other.url}" in stage.err
        assert stage.run("bots", "--url", other.url) == 0
    assert ours.heard[0].headers["authorization"] == "Bearer cs_user_of_this_test"
    assert [heard.target for heard in other.heard] == ["/api/v1/bots"]
    assert "authorization" not in other.heard[0].headers


def test_spellings_of_one_address_are_the_same_service(stage: Stage) -> None:
    with scripted(USAGE) as server:
        logged_in(stage, server.url)
        port = server.url.rpartition(":")[2]
        assert stage.run("usage", "--url", f"HTTP://127.0.0.1:{port}/") == 0
    assert server.heard[0].target == "/api/v1/usage"


@pytest.mark.parametrize(
    "address", ["https://one.example.com", "http://one.example.com:443", "https://one.example.com:8443"]
)
def test_another_scheme_or_port_is_another_service(stage: Stage, address: str) -> None:
    logged_in(stage, "http://one.example.com")
    assert stage.run("usage", "--url", address) == 5
    assert "you are not logged in" in stage.err


def test_the_directory_is_in_the_users_configuration() -> None:
    assert directory_of({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}) == Path("/x/catalogctl")
    assert directory_of({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == Path("/h/.config/catalogctl")
    assert directory_of({"HOME": "/h"}) == Path("/h/.config/catalogctl")
    with pytest.raises(Misused, match="no home directory"):
        directory_of({"HOME": "relative"})


def test_the_file_has_the_documented_form(stage: Stage) -> None:
    ring = Keyring(stage.file.parent, pytest.fail)
    ring.change(lambda saved: saved.with_one(ONE, Credential("k", "p", "t")))
    assert json.loads(stage.file.read_text()) == {
        "version": 1,
        "current": ONE,
        "services": {ONE: {"api_key": "k", "key_prefix": "p", "tenant_id": "t"}},
    }
    assert saved(stage) == {ONE: "k"}
