"""`make test` leaves out only what it names, and keeps each concern in a real process and in a browser."""

import re

import pytest

from tests.slow import ROOT, SMOKE, THOROUGH, is_repetition

CONCERNS = {path.parent.name for path in (ROOT / "actors").glob("*/__init__.py")} - {"kernel", "shared"}


def test_the_tables_name_files_and_the_places_that_show_the_same() -> None:
    assert [name for name in (*SMOKE, *THOROUGH) if not (ROOT / "tests" / name).is_file()] == []
    places = [place for why in THOROUGH.values() for place in re.findall(r"tests/\S+", why)]
    assert [place for place in places if not (ROOT / place).exists()] == []


@pytest.mark.parametrize(
    ("folders", "unseen"),
    [
        # Retention is a matter of days: tests/retention lives through them over a real Postgres.
        (("acceptance", "browser"), {"retention"}),
        # No page shows backups.
        (("browser",), {"retention", "backups"}),
    ],
)
def test_every_concern_is_seen_in_a_real_process_and_in_a_browser(folders: tuple[str, ...], unseen: set[str]) -> None:
    seen = {concern for name, concerns in SMOKE.items() if name.startswith(folders) for concern in concerns.split()}
    assert seen == CONCERNS - unseen


@pytest.mark.parametrize("name", SMOKE)
def test_a_file_of_smoke_tests_has_one(name: str) -> None:
    assert re.search(
        r"^(@|pytestmark = )smoke$|\[smoke\]", (ROOT / "tests" / name).read_text(encoding="utf-8"), re.MULTILINE
    )


@pytest.mark.parametrize(
    ("folder", "marks", "left_out"),
    [
        ("acceptance", (), True),
        ("acceptance", ("smoke",), False),
        ("acceptance", ("smoke", "repeats"), True),
        ("api", (), False),
        ("api", ("repeats",), True),
    ],
)
def test_a_test_that_repeats_another_is_left_out_wherever_it_is(
    folder: str, marks: tuple[str, ...], left_out: bool
) -> None:
    assert is_repetition(f"tests/{folder}/test_some.py::test_some", marks) is left_out
