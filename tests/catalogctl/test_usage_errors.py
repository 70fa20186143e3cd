"""Invalid commands: one line, exit code 2, and nothing is sent."""

import pytest

from service.version import VERSION
from tests.catalogctl.stage import Stage, no_network


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("unknown", "there is no command 'unknown' (try catalogctl --help)"),
        ("usecase", "there is no command 'usecase': did you mean 'usecases'? (try catalogctl --help)"),
        ("sponsor boking", "there is no command 'boking': did you mean 'booking'? (try catalogctl sponsor --help)"),
        ("bots --limit 0", "is not a number from 1"),
        ("bots --limit ten", "is not a number from 1"),
        ("bots query --slug bot-01", "--slug shows one entry"),
        ("bots --category Finance --slug bot-01", "--slug shows one entry"),
        ("notifications --reports maybe", "invalid choice: 'maybe'"),
        ("notifications --reports", "expected one argument"),
        ("sponsor", "the following arguments are required: COMMAND"),
        ("sponsor inventory --week 2026-12-29", "2026-12-29 is not a Monday; its week begins on 2026-12-28"),
        ("sponsor inventory --week soon", "--week must be the date of a Monday"),
        ("sponsor book --campaign c --slot s", "the following arguments are required: --week"),
        ("sponsor book --campaign c --slot s --week 2026-11-23 --idempotency-key 7", "must be a UUID"),
        ("sponsor edit-campaign c", "nothing to change was given"),
        ("sponsor delivery b --all", "cannot be combined with one booking"),
        ("bots \udcff", "an argument is not valid UTF-8"),
    ],
)
def test_an_invalid_command_is_refused_before_anything_is_sent(
    stage: Stage, capsys: pytest.CaptureFixture[str], words: str, line: str
) -> None:
    stage.send = no_network
    stage.environment["CATALOGCTL_KEY"] = "cs_user_variable"
    assert stage.run(*words.split()) == 2
    output = stage.err + capsys.readouterr().err
    assert line in output
    assert len(output.splitlines()) == 1


def test_each_command_has_help_without_colours(
    stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    for words in ("", "login", "usecases", "sponsor", "sponsor book", "sponsor create-key"):
        assert stage.run(*words.split(), "--help") == 0
        output = capsys.readouterr().out
        assert output.startswith(" ".join(f"usage: catalogctl {words}".split()))
        assert "--json" in output
        assert "\x1b" not in output
    assert stage.run("--version") == 0
    assert capsys.readouterr().out == f"catalogctl {VERSION}\n"
