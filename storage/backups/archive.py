"""Backs up the embedded database to one file, and restores it into an empty data directory.

The file is a tar archive of a manifest, the output of `pg_dump` (one consistent snapshot, even of a running server), and
the server secret if the data directory holds it: without the secret, codes, links and visitor hashes would change. Must
not know what the tables mean, but for the one whose rows no backup has.
"""

import hashlib
import hmac
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO

import trio

from storage.backups.disk import DISK_SECONDS, Disk
from storage.connection.target import Target
from storage.embedded.binaries import MAJOR_VERSION, find_binaries
from storage.embedded.children import account_of, run
from storage.embedded.cluster import half_restored
from storage.embedded.directories import sync
from storage.embedded.server import endpoint_of_running, running_postgres
from storage.schema import migrations

FORMAT = 1
MANIFEST, DUMP, SECRET = "manifest.json", "database.dump", "secret"
PARTS = ".backup-"
"""The names of temporary directories begin so."""
CHUNK_BYTES = 1024 * 1024
MANIFEST_BYTES = 64 * 1024
LEFT_OUT = "visitor_secrets"
"""The table whose rows are deleted after 48 hours, in backups too. A restored database makes a new secret."""
LAST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, the latest that `datetime` can represent."""

_MAJOR = re.compile(r"[0-9]{1,4}", re.ASCII)


Progress = Callable[[int, int], None]
"""Told now and then how many bytes are done, and of how many; 0 if that is unknown."""


class BackupError(Exception):
    """A backup cannot be made or used. The text is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description inside a backup. `sums` are the SHA-256 sums of its other files, and `schema` is the number of
    migrations of the program that made it."""

    format: int
    made_ms: int
    postgres: str
    schema: int
    sums: Mapping[str, str]


async def back_up(
    data_dir: Path,
    file: Path,
    now_ms: int,
    *,
    os_user: str | None = None,
    parts: str = PARTS,
    niceness: int = 0,
    progress: Progress | None = None,
    disk: Disk | None = None,
) -> Manifest:
    """Write a backup of the database in `data_dir` to `file`, mode 0600. The file is complete or absent, also if this is
    cancelled.

    Uses the Postgres of a running service, or starts it. `parts` begins the name of the temporary directory beside the file.
    With `niceness`, the dump yields the processor to others. `disk` is the one of the file; only `progress` reads it
    outside of a thread. Raises `BackupError` or `EmbeddedError`.
    """
    disk = disk or Disk(_beside(file))
    async with _parts_directory(disk, file, parts, partial(_check_places, data_dir, file)) as place:
        running = await disk.call(endpoint_of_running, data_dir, seconds=DISK_SECONDS)
        if running is not None:
            await _dump(running, place / DUMP, niceness, progress)
        else:
            async with running_postgres(data_dir, os_user=os_user) as postgres:
                await _dump(postgres.endpoint, place / DUMP, niceness, progress)
        return await disk.call(_pack, place, data_dir / SECRET, file, now_ms)


async def restore(
    file: Path, data_dir: Path, *, os_user: str | None = None, progress: Progress | None = None
) -> Manifest:
    """Restore a backup into `data_dir`, which must not hold a database.

    The whole file is checked before anything is created. An interrupted restore leaves a mark, and the service refuses
    to start from that directory. Raises `BackupError` or `EmbeddedError`.
    """
    disk = Disk(_beside(data_dir))
    async with _parts_directory(disk, data_dir, PARTS, partial(_check_empty, data_dir)) as place:
        manifest = await disk.call(_unpack, file, place)
        with half_restored(data_dir):
            async with running_postgres(data_dir, os_user=os_user, restoring=True) as postgres:
                await _load(postgres.endpoint, place / DUMP, progress)
            if SECRET in manifest.sums:
                with _private_file(data_dir / SECRET) as secret:
                    secret.write((place / SECRET).read_bytes())
    return manifest


def _check_places(data_dir: Path, file: Path) -> None:
    if file.exists():
        raise BackupError(f"{file} already exists: choose another file")
    if not (data_dir / "postgres").exists():
        raise BackupError(f"there is no database in {data_dir}: choose another --data-dir")


def _check_empty(data_dir: Path) -> None:
    cluster = data_dir / "postgres"
    if cluster.exists() or cluster.is_symlink() or (data_dir / SECRET).exists():
        raise BackupError(f"{data_dir} already holds a database: restore into an empty --data-dir")


async def _dump(endpoint: Target, target: Path, niceness: int, progress: Progress | None) -> None:
    def watch(report: Progress) -> None:
        report(target.stat().st_size if target.exists() else 0, 0)

    # The quickest compression: the default takes twice the processor time for a file that is less than a tenth smaller.
    options = ("--format=custom", "--compress=1", f"--exclude-table-data={LEFT_OUT}", f"--file={target}")
    await _client("pg_dump", endpoint, *options, watch=progress and partial(watch, progress), niceness=niceness)


async def _load(endpoint: Target, dump: Path, progress: Progress | None) -> None:
    with dump.open("rb") as source:
        total = os.fstat(source.fileno()).st_size

        def watch(report: Progress) -> None:
            # The program reads through the same open file, so the position is shared.
            report(os.lseek(source.fileno(), 0, os.SEEK_CUR), total)

        options = ("--single-transaction", "--exit-on-error")
        await _client("pg_restore", endpoint, *options, stdin=source, watch=progress and partial(watch, progress))


async def _client(
    name: str,
    endpoint: Target,
    *options: str | Path,
    watch: Callable[[], None] | None,
    stdin: bytes | IO[bytes] = b"",
    niceness: int = 0,
) -> None:
    """Run a Postgres client program as the user that the embedded server admits."""
    account = account_of(os.geteuid())
    place = (f"--host={endpoint.host}", f"--port={endpoint.port}", f"--username={endpoint.user}", "--no-password")
    command = [find_binaries(account) / name, *place, f"--dbname={endpoint.database}", "--no-owner", *options]
    await run(command, account, stdin, niceness, watch=watch)


def _beside(path: Path) -> Path:
    return path.absolute().parent


@asynccontextmanager
async def _parts_directory(disk: Disk, final: Path, prefix: str, check: Callable[[], None]) -> AsyncIterator[Path]:
    """A private directory for the parts, on the disk of the final file. Removing it waits a limited time for the disk."""
    beside = _beside(final)

    def make() -> Path:
        check()
        beside.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=prefix, dir=beside))

    try:
        place = await disk.call(make, seconds=DISK_SECONDS)
    except OSError as error:
        raise BackupError(f"cannot write to {beside}: {error.strerror}") from None
    try:
        yield place
    except OSError as error:
        raise BackupError(f"{error.filename or beside}: {error.strerror}") from None
    finally:
        await disk.clean_up(partial(shutil.rmtree, place, ignore_errors=True))


class _Interruptible(io.FileIO):
    """A file whose reader stops if the task that waits for its thread is cancelled: a large file takes minutes."""

    def read(self, size: int | None = -1) -> bytes:
        trio.from_thread.check_cancelled()
        return super().read(size)


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    with _Interruptible(path) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _pack(place: Path, secret: Path, file: Path, now_ms: int) -> Manifest:
    """Write the parts to one file, manifest first. The file is complete or absent, and synced when this returns.

    Runs in a thread, and stops if the task that waits for it is cancelled.
    """
    if secret.exists():
        shutil.copyfile(secret, place / SECRET)
    sums = {path.name: _sum(path) for path in sorted(place.iterdir())}
    manifest = Manifest(FORMAT, now_ms, MAJOR_VERSION, len(migrations()), sums)
    (place / MANIFEST).write_text(json.dumps(asdict(manifest)))
    fresh = place / "whole"
    with _private_file(fresh) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name in (MANIFEST, DUMP, SECRET):
            if (place / name).exists():
                with _Interruptible(place / name) as part:
                    archive.addfile(_about(name, os.fstat(part.fileno())), part)
    trio.from_thread.check_cancelled()  # a backup that was given up while the disk hung must not appear later
    try:
        os.link(fresh, file)
    except FileExistsError:
        raise BackupError(f"{file} already exists: choose another file") from None
    sync(_beside(file))
    return manifest


def _about(name: str, status: os.stat_result) -> tarfile.TarInfo:
    """The header of a part, which names no owner."""
    part = tarfile.TarInfo(name)
    part.size, part.mtime, part.mode = status.st_size, int(status.st_mtime), 0o600
    return part


def _unpack(file: Path, place: Path) -> Manifest:
    """Check a backup and extract its parts. Raises `BackupError` if anything differs from the manifest."""
    try:
        with tarfile.open(file, mode="r:") as archive:
            manifest = _read_manifest(file, archive)
            for name, promised in manifest.sums.items():
                _extract(file, archive, name, place / name)
                if not hmac.compare_digest(_sum(place / name), promised):
                    raise BackupError(f"{file} is damaged: the checksum of {name} is wrong")
    except tarfile.TarError:
        raise BackupError(f"{file} is damaged, or not a backup of this service") from None
    except OSError as error:
        raise BackupError(f"cannot read {file}: {error.strerror}") from None
    return manifest


def _read_manifest(file: Path, archive: tarfile.TarFile) -> Manifest:
    first = archive.next()
    stream = None if first is None or first.name != MANIFEST or not first.isfile() else archive.extractfile(first)
    if stream is None:
        raise BackupError(f"{file} is not a backup of this service")
    try:
        manifest = Manifest(**json.loads(stream.read(MANIFEST_BYTES)))
    except (ValueError, TypeError, RecursionError):
        manifest = None
    if manifest is None or not _is_readable(manifest):
        raise BackupError(f"{file} is damaged: its manifest cannot be read")
    if manifest.format != FORMAT or DUMP not in manifest.sums or not manifest.sums.keys() <= {DUMP, SECRET}:
        raise BackupError(f"{file} was made by another version of this program: restore it with that version")
    if int(manifest.postgres) > int(MAJOR_VERSION) or manifest.schema > len(migrations()):
        raise BackupError(f"{file} was made by a newer version of this program: restore it with that version")
    return manifest


def _is_readable(manifest: Manifest) -> bool:
    """Whether the values have their declared types, since the file may contain anything."""
    made_ms, sums = manifest.made_ms, manifest.sums
    return (
        all(type(number) is int and number >= 0 for number in (manifest.format, made_ms, manifest.schema))
        and made_ms <= LAST_MS
        and isinstance(manifest.postgres, str)
        and _MAJOR.fullmatch(manifest.postgres) is not None
        and isinstance(sums, dict)
        and all(isinstance(each, str) and each.isascii() for each in sums.values())
    )


def _extract(file: Path, archive: tarfile.TarFile, name: str, target: Path) -> None:
    part = next((each for each in archive if each.name == name and each.isfile()), None)
    stream = None if part is None else archive.extractfile(part)
    if stream is None:
        raise BackupError(f"{file} is damaged: {name} is missing")
    with stream, target.open("xb") as copy:
        shutil.copyfileobj(stream, copy, CHUNK_BYTES)


@contextmanager
def _private_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file, mode 0600, synced when the block ends."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
