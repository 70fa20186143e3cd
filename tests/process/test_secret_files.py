"""Settings whose values are in files, which the environment names."""

from pathlib import Path

import pytest

from service.config.loading import FILE_CHARACTERS, REMOVED, load
from service.config.user_errors import ConfigError

SECRET = "CATALOG__SERVER__SECRET"
VALUE = "a secret of this test, with an equals sign: ="


def test_a_file_that_the_environment_names_holds_the_value(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    for text in (VALUE, VALUE + "\n"):
        file.write_text(text)
        assert load(None, {f"{SECRET}__FILE": str(file)}).server.secret == VALUE


def test_a_list_is_read_from_a_file_as_from_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "emails"
    file.write_text("ann@example.com, bob@example.com\n")
    assert load(None, {"CATALOG__ADMIN__EMAILS__FILE": str(file)}).admin.emails == [
        "ann@example.com",
        "bob@example.com",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "__FILE: cannot read {file}: No such file or directory"),
        (b"\xff" * 40, "__FILE: {file} is not UTF-8"),
        (b"x" * (FILE_CHARACTERS + 1), "__FILE: {file} is longer than 16384 characters"),
        (b"short", "server.secret is shorter than 32 characters"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(content: bytes | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        load(None, {f"{SECRET}__FILE": str(file)})
    assert words.format(file=file) in str(refused.value)
    assert "xxx" not in str(refused.value), "no secret is shown"


def test_a_value_and_a_file_for_one_setting_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{SECRET} and {SECRET}__FILE are both set"):
        load(None, {SECRET: VALUE, f"{SECRET}__FILE": str(tmp_path)})


def test_a_file_of_an_unknown_setting_is_refused_like_its_value(tmp_path: Path) -> None:
    (tmp_path / "city").write_text("Oslo")
    with pytest.raises(ConfigError, match="unknown setting weather in the environment"):
        load(None, {"CATALOG__WEATHER__CITY__FILE": str(tmp_path / "city")})


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("CATALOG__SERVER__BINDD", "unknown setting server.bindd in the environment: did you mean server.bind?"),
        ("CATALOG__SERVR__BIND", "unknown setting servr in the environment: did you mean server?"),
        ("CATALOG__WEATHER__CITY", "unknown setting weather in the environment"),
    ],
)
def test_a_misspelt_setting_is_refused_with_the_one_that_was_probably_meant(variable: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(None, {variable: "1"})
    assert str(refused.value) == words


@pytest.mark.parametrize("name", REMOVED)
def test_a_removed_setting_is_refused_with_the_release_and_what_to_do(name: str) -> None:
    variable = f"CATALOG__{name.upper().replace('.', '__')}"
    with pytest.raises(
        ConfigError, match=rf"{name} in the environment was removed in 1\.2, because .*: (delete it|set that)"
    ):
        load(None, {variable: "1"})


def test_a_whole_bound_is_shown_without_decimals() -> None:
    with pytest.raises(ConfigError, match=r"server\.drain_seconds: must be at least 0$"):
        load(None, {"CATALOG__SERVER__DRAIN_SECONDS": "-1"})
