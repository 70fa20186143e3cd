"""The commands that serve, and that migrate the database."""

import logging
from functools import partial
from pathlib import Path
from typing import Annotated

from service.cli.command import option
from service.cli.database import open_with_running_node
from service.cli.running import configured
from service.cli.startup import report_ready
from service.config.deployment import refuse_unsafe, refuse_untraced
from service.config.model import Config
from service.running.foundation import warn_of_certificate
from service.version import PROGRAM, VERSION

log = logging.getLogger(__name__)


async def serve(
    config: Config,
    data_dir: Path,
    *,
    config_file: Path | None,
    bind: Annotated[str | None, option("address to listen on; port 0 picks a free one", metavar="HOST:PORT")] = None,
    browse: Annotated[bool, option("open the browser once the service is ready", flag="--open")] = False,
) -> None:
    refuse_unsafe(config)
    refuse_untraced(config)
    warn_of_certificate(config)
    log.info("starting %s %s, data directory %s", PROGRAM, VERSION, data_dir)
    ready = partial(report_ready, config, data_dir, browse=browse)
    # Loaded here, because other commands need no server; and the parent of several workers loads no app.
    if config.server.workers > 1:
        from service.process import parent

        await parent.run(config, data_dir, ready, partial(configured, config_file, bind))
        return
    from service.running.node import run

    await run(config, data_dir, ready)


async def migrate(config: Config, data_dir: Path) -> None:
    async with open_with_running_node(config, data_dir, create=True):
        # Opening storage has migrated it.
        print("the schema is up to date")
