"""The commands that import a catalog file and write the demo data."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

from actors.catalog.messages import Kind
from actors.catalog.store import Import
from actors.clock import SystemEntropy
from actors.shared.credentials import new_id
from actors.values import AuditRecord
from service.cli.command import CommandError, argument, option, path_of
from service.cli.database import AGENT, open_with_running_node, progress_bar
from service.config.model import Config
from service.running.foundation import clock_of
from service.seed.catalog_file import Parsed, parse, unknown_bots
from service.seed.samples import replace_demo, retried


async def import_catalog(
    config: Config,
    data_dir: Path,
    *,
    file: Annotated[Path, argument("FILE", type=path_of)],
    prune: Annotated[bool, option("remove entries that are not in the file")] = False,
    dry_run: Annotated[bool, option("print what would change, and change nothing")] = False,
) -> None:
    parsed = _parsed(file)
    async with open_with_running_node(config, data_dir, create=True) as opened:
        present = await opened.catalog.present(Kind.BOTS, sorted(parsed.references))
        with progress_bar("import", "entries") as progress:
            now_ms = (await clock_of(config, opened)).now_ms()
            audit_id = new_id("aud", SystemEntropy().token(16))
            audit = AuditRecord.by(AGENT, audit_id, now_ms, "catalog.imported", ("catalog", file.name[:100]), "", "{}")
            batch = Import(parsed.entries, now_ms, prune, dry_run, progress, audit)
            counts = await retried(partial(opened.catalog.replace, batch))
    for warning in unknown_bots(parsed, present):
        print(f"warning: {warning}", file=sys.stderr)
    for kind, count in counts.by_kind.items():
        print(
            f"{kind}: {count.added} added, {count.changed} changed, {count.unchanged} unchanged, {count.removed} removed"
        )
    if dry_run:
        print("nothing was changed: this was a dry run")


def _parsed(file: Path) -> Parsed:
    try:
        with file.open("rb") as stream:
            parsed = parse(stream)
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}") from None
    if parsed.errors:
        for line in parsed.report():
            print(line, file=sys.stderr)
        count = len(parsed.errors) + parsed.more_errors
        raise CommandError(f"{file}: {count} {'error' if count == 1 else 'errors'}; nothing was imported")
    return parsed


async def seed_demo(
    config: Config,
    data_dir: Path,
    *,
    remove: Annotated[bool, option("remove the demo, also for later starts")] = False,
) -> None:
    async with open_with_running_node(config, data_dir) as opened:
        clock = await clock_of(config, opened)
        counts = await replace_demo(opened.demo, clock, SystemEntropy(), AGENT, remove=remove)
    assert counts is not None, "only seeding with `first` may return None"
    if counts.removed:
        print(f"removed {counts.removed} rows of the previous demo")
    if not remove:
        print(
            f"wrote {counts.sponsors} sponsors, {counts.slots} slots, {counts.campaigns} campaigns, "
            f"{counts.bookings} bookings and {counts.days} days of delivery"
        )
    elif not counts.removed:
        print("there was no demo; later starts will not add one")
    if counts.retired:
        print(f"retired {counts.retired} slots instead of removing them, because real bookings use them")
    if counts.left_out:
        print(f"left out {counts.left_out} rows because real rows take their place")
