"""Loads the configuration: the shipped `config.toml`, overridden by a file, then by the environment."""

import json
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from service.config.model import Config
from service.config.user_errors import ConfigError
from service.schemas.problems import problems_of

PREFIX = "CATALOG__"
FILE = "__FILE"
"""The end of a variable that names a file with the setting's value."""
FILE_CHARACTERS = 16_384

REMOVED = {
    "actors.failure_window_seconds": "was removed in 1.2, because it is always a minute: delete it",
    "catalog.keyless_search_seconds": "was removed in 1.2, because a search takes milliseconds: delete it",
    "catalog.search_seconds": "was removed in 1.2, because a search takes milliseconds: delete it",
    "catalog.waiters_per_caller": "was removed in 1.2, because a search takes milliseconds: delete it",
    "actors.failures": "was removed in 1.2, because the fifth failure within a minute always ends the process: delete it",
    "database.os_user": "was removed in 1.2, because server.user names the same user: set that",
    "events.bucket_hours": "was removed in 1.2, because an event counts once a day: delete it",
    "events.shards": "was removed in 1.2, because a node commits several batches of events at once by itself: delete it",
}
"""Settings of earlier releases, each with its replacement or the reason for its removal."""

PACKAGE = Path(__file__).resolve().parents[1]
INSTALLED = (PACKAGE / "config.toml").exists()
"""Whether this is an installation, whose package holds `config.toml`. In a checkout, it is at the root."""

DEFAULTS = (PACKAGE if INSTALLED else PACKAGE.parent) / "config.toml"


def load(path: Path | None, environment: Mapping[str, str]) -> Config:
    """The shipped `config.toml`, overridden by `path` (if any), then by `environment`. Raises `ConfigError`."""
    settings = deepcopy(_shipped())
    if path is not None:
        _overlay(settings, _read(path), str(path))
    _overlay(settings, _from_environment(environment), "the environment")
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        raise ConfigError("; ".join(_lines(error))) from None


@cache
def _shipped() -> dict[str, Any]:
    return _read(DEFAULTS)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 (byte {error.start + 1}): save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply") from None


def _overlay(settings: dict[str, Any], over: Mapping[str, Any], source: str, place: str = "") -> None:
    """Override `settings` in place. Raises `ConfigError` for settings that it does not have."""
    for name, value in over.items():
        where = f"{place}.{name}" if place else name
        if where in REMOVED:
            raise ConfigError(f"{where} in {source} {REMOVED[where]}")
        if name not in settings:
            raise ConfigError(f"unknown setting {where} in {source}{_similar(name, settings, place)}")
        if isinstance(settings[name], dict):
            if not isinstance(value, dict):
                raise ConfigError(f"{where} in {source} is a section, not a value")
            _overlay(settings[name], value, source, where)
        elif isinstance(value, dict):
            raise ConfigError(f"unknown setting {where}.{next(iter(value), '')} in {source}")
        else:
            settings[name] = _like(settings[name], value)


def _similar(name: str, known: Mapping[str, Any], place: str) -> str:
    """A question that names the setting in `place` that was probably meant; empty if none is like `name`."""
    found = get_close_matches(name, known, n=1)
    return f": did you mean {'.'.join(filter(None, (place, *found)))}?" if found else ""


def _like(default: Any, value: Any) -> Any:
    """`value`, or a list if the setting is one and `value` is a text: JSON, or words separated by commas."""
    if not isinstance(default, list) or not isinstance(value, str):
        return value
    if value.startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return [word.strip() for word in value.split(",") if word.strip()]


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for variable, value in sorted(environment.items()):
        if not variable.startswith(PREFIX):
            continue
        *sections, name = variable.removeprefix(PREFIX).removesuffix(FILE).lower().split("__")
        if variable.endswith(FILE):
            value = _content(variable, value, environment)
        place = settings
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ConfigError(f"unknown setting {variable} in the environment")
        place[name] = value
    return settings


def _content(variable: str, file: str, environment: Mapping[str, str]) -> str:
    """The content of the file that `variable` names, without a line break at its end."""
    setting = variable.removesuffix(FILE)
    if setting in environment:
        raise ConfigError(f"{setting} and {variable} are both set in the environment: set one of them")
    try:
        with Path(file).open(encoding="utf-8-sig") as opened:
            text = opened.read(FILE_CHARACTERS + 1)
    except OSError as error:
        raise ConfigError(f"{variable}: cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{variable}: {file} is not UTF-8") from None
    if len(text) > FILE_CHARACTERS:
        raise ConfigError(f"{variable}: {file} is longer than {FILE_CHARACTERS} characters")
    return text.removesuffix("\n")


def _lines(error: ValidationError) -> list[str]:
    """One line for each problem."""
    lines = {
        each.field: f"{each.field}: {each.message}" if each.field and each.field not in each.message else each.message
        for each in problems_of(error)
    }
    return list(lines.values())
