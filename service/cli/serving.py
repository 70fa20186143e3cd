"""The commands that serve, migrate the database, and print the OpenAPI document."""

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from service.api.openapi import document
from service.api.operations import OPERATIONS
from service.cli.command import Commands, open_beside
from service.config import Config
from service.config_loading import load
from service.main import run
from service.process import parent


def add_serving_commands(commands: Commands) -> None:
    serve = commands.add(
        "serve",
        "Start the service; prints 'listening on URL' when it is ready.",
        serve_until_stopped,
        "config_file",
        "bind",
    )
    serve.add_argument("--bind", metavar="HOST:PORT", help="address to listen on; port 0 picks a free one")
    commands.add("migrate", "Bring the database schema up to date.", migrate)
    commands.add("openapi", "Print the OpenAPI document.", print_openapi)


def configured(file: Path | None, bind: str | None) -> Config:
    """The current configuration; `bind` overrides `server.bind`. Raises `ConfigError`."""
    override = {} if bind is None else {"CATALOG__SERVER__BIND": bind}
    return load(file, {**os.environ, **override})


async def serve_until_stopped(config: Config, data_dir: Path, *, config_file: Path | None, bind: str | None) -> None:
    if config.server.workers == 1:
        await run(config, data_dir, _print_urls)
    else:
        await parent.run(config, data_dir, _print_urls, partial(configured, config_file, bind))


def _print_urls(urls: Sequence[str]) -> None:
    print("\n".join(f"listening on {url}" for url in urls), flush=True)


async def migrate(config: Config, data_dir: Path) -> None:
    async with open_beside(config, data_dir, create=True):
        # Opening storage has migrated it.
        print("the schema is up to date")


async def print_openapi(config: Config, data_dir: Path) -> None:
    base_url = config.server.base_url or f"http://{config.server.bind}"
    print(json.dumps(document(OPERATIONS, base_url), indent=1, ensure_ascii=False))
