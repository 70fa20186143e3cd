"""Runs the chosen command: its configuration, its log, its event loop, and its exit code."""

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import trio

from service.config.loading import load
from service.config.model import Config
from service.observability.logs import set_up
from service.process.exit_codes import SUCCESS
from service.process.exit_status import outcome_of


def run(options: argparse.Namespace, complain: Callable[[str], None]) -> int:
    """Run the command of `options`; returns the process's exit code."""
    return outcome_of(lambda: _run(options), complain)


def _run(options: argparse.Namespace) -> int:
    config = configured(options.config_file, options.bind)
    set_up(config.log.level, config.log.format)
    values = {name: getattr(options, name) for name in options.arguments}
    code: int | None = trio.run(partial(options.work, config, options.data_dir, **values))
    return SUCCESS if code is None else code


def configured(file: Path | None, bind: str | None) -> Config:
    """The current configuration; `bind` overrides `server.bind`. Raises `ConfigError`."""
    override = {} if bind is None else {"CATALOG__SERVER__BIND": bind}
    return load(file, {**os.environ, **override})
