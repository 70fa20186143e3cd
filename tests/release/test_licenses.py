"""A licence that is not in the list fails, and so does one that nobody can name."""

from email.message import Message
from pathlib import Path

import pytest

from release.licenses import expression_of, is_allowed, main, problems_of


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(Apache-2.0 OR BSD-3-Clause) AND MIT", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("AGPL-3.0-or-later", False),
        ("Free for friends", False),
        ("", False),
    ],
)
def test_an_expression_is_allowed_if_listed_licences_meet_it(expression: str, allowed: bool) -> None:
    assert is_allowed(expression) is allowed


@pytest.mark.parametrize(
    ("fields", "expression"),
    [
        ([("License-Expression", "MIT"), ("Classifier", "License :: OSI Approved :: BSD License")], "MIT"),
        ([("Classifier", "License :: OSI Approved :: MIT License"), ("License", "see the file")], "MIT"),
        ([("Classifier", "License :: OSI Approved"), ("License", "ISC")], "ISC"),
        (
            [
                ("Classifier", "License :: OSI Approved :: MIT License"),
                ("Classifier", "License :: OSI Approved :: GNU Affero General Public License v3"),
            ],
            "MIT AND GNU Affero General Public License v3",
        ),
        ([("Classifier", "Topic :: Software Development")], ""),
    ],
)
def test_the_licence_of_a_package_is_what_its_metadata_say(fields: list[tuple[str, str]], expression: str) -> None:
    metadata = Message()
    for name, value in fields:
        metadata[name] = value
    assert expression_of(metadata) == expression


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with three installed packages."""
    for name, licence in (("good-one", "MIT"), ("bad.one", "AGPL-3.0-only"), ("silent", "")):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        line = f"License-Expression: {licence}\n" if licence else ""
        (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n{line}")
    return tmp_path


def test_each_package_of_the_lock_is_checked(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = site / "a.lock"
    pins = ["good_one==1.0", "bad-one==1.0", "silent==1.0", "absent==1.0", 'elsewhere==1.0 ; sys_platform == "win32"']
    lock.write_text("".join(f"{pin} \\\n    --hash=sha256:00\n" for pin in pins))
    assert [problem.partition(":")[0] for problem in problems_of(lock, site)] == ["bad-one", "silent", "absent"]
    assert main(str(lock), str(site)) == 1
    assert "licences: bad-one: its licence is not in the list of release/licenses.py: AGPL-3.0-only" in (
        capsys.readouterr().err
    )
    lock.write_text("good-one==1.0 \\\n    --hash=sha256:00\n")
    assert main(str(lock), str(site)) == 0
