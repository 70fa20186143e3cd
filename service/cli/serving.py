"""The commands that serve, and that migrate the database."""

import logging
from functools import partial
from pathlib import Path

from service.cli.command import Commands
from service.cli.database import open_beside
from service.cli.running import configured
from service.cli.startup import report_ready
from service.config.deployment import refuse_unsafe, refuse_untraced
from service.config.model import Config
from service.running.foundation import warn_of_certificate
from service.version import PROGRAM, VERSION

log = logging.getLogger(__name__)


def add_serving_commands(commands: Commands) -> None:
    serve = commands.add("serve", serve_until_stopped, "config_file", "bind", "browse")
    serve.add_argument("--bind", metavar="HOST:PORT", help="address to listen on; port 0 picks a free one")
    serve.add_argument("--open", dest="browse", action="store_true", help="open the browser once the service is ready")
    serve.set_defaults(logs_all=True)
    commands.add("migrate", migrate)


async def serve_until_stopped(
    config: Config, data_dir: Path, *, config_file: Path | None, bind: str | None, browse: bool
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
    async with open_beside(config, data_dir, create=True):
        # Opening storage has migrated it.
        print("the schema is up to date")
