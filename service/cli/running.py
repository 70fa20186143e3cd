"""Runs the chosen command: its configuration, its log, its event loop, and its exit code."""

import argparse
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import trio

from service.cli.data_directory import data_dir_of
from service.config.loading import load
from service.config.model import Config
from service.observability.logs import set_up
from service.process.exit_status import outcome_of
from service.terminal.output import SUCCESS
from storage.embedded.postmaster import SERVER_LOG


def run(options: argparse.Namespace, complain: Callable[[str], None]) -> int:
    """Run the command of `options`; returns the process's exit code."""
    return outcome_of(lambda: _run(options), complain)


def _run(options: argparse.Namespace) -> int:
    config = configured(options.config_file, options.bind)
    _set_up_log(config, everything=options.logs_all or options.verbose)
    places = [data_dir_of(config, options.data_dir)] if options.uses_data else []
    values = {name: getattr(options, name) for name in options.arguments}
    code: int | None = trio.run(partial(options.work, config, *places, **values))
    return SUCCESS if code is None else code


def _set_up_log(config: Config, *, everything: bool) -> None:
    level = log_level(config.log.level, everything=everything)
    set_up(level, config.log.format)
    if everything or level == "debug":
        return
    [handler] = logging.getLogger().handlers
    # The command prints the complaint of Postgres as its reason.
    handler.addFilter(lambda record: record.name != SERVER_LOG)
    if sys.stderr.isatty():
        logging.getLogger("storage.schema").setLevel(logging.INFO)  # a person sees that a long migration goes on


def log_level(configured: str, *, everything: bool) -> str:
    """The level of a command's log. Unless it logs everything, what goes well is not logged."""
    return "warning" if configured == "info" and not everything else configured


def configured(file: Path | None, bind: str | None) -> Config:
    """The current configuration; `bind` overrides `server.bind`. Raises `ConfigError`."""
    override = {} if bind is None else {"CATALOG__SERVER__BIND": bind}
    return load(file, {**os.environ, **override})
