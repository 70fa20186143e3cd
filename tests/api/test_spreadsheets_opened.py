"""CSV files in a real spreadsheet, LibreOffice: whatever separates their cells, nothing of them is evaluated."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.api.spreadsheets import BOM, SIGNS, csv_of

SOFFICE = shutil.which("soffice")
SEPARATORS = {"comma": "44", "semicolon": "59", "tab": "9", "bar": "124", "all that it offers": "44/59/9/32"}
AROUND = (
    *(
        "{}",
        " {}",
        '"{}"',
        "x;{};y",
        "x; {}",
        'x;"{}";y',
        'x";"{}',
        ";{}",
        "x,{},y",
        'x,"{}"',
        "x\t{}\ty",
        "x|{}|y",
        "x {} y",
    ),
    *("x\n{}\ny", "x\r\n{}", "x;;{}", 'x;""{}', "\t{}", "x;\t{}"),
)
TEXTS = [around.format(f"{sign}1+2") for sign in SIGNS for around in AROUND]

needs_libreoffice = pytest.mark.skipif(
    SOFFICE is None, reason="soffice is not installed: apt-get install --no-install-recommends libreoffice-calc-nogui"
)


def evaluated(file: bytes, separator: str, place: Path) -> list[str]:
    """The formulas that LibreOffice finds in a file, told to evaluate them, as its dialog can be."""
    (place / "list.csv").write_bytes(file)
    options = f"{SEPARATORS[separator]},34,76,1,,0,false,true,false,false,false,-1,true"
    made = subprocess.run(
        [
            *(str(SOFFICE), "--headless", f"-env:UserInstallation=file://{place}/profile"),
            *("--convert-to", "fods", "--infilter=Text - txt - csv (StarCalc):" + options, "--outdir", str(place)),
            str(place / "list.csv"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    opened = place / "list.fods"
    assert opened.exists(), made.stdout + made.stderr
    sheet = opened.read_text()
    assert "table:table-row" in sheet
    return re.findall(r'table:formula="([^"]*)"', sheet)


@needs_libreoffice
@pytest.mark.parametrize("separator", SEPARATORS)
def test_nothing_of_a_file_is_evaluated(separator: str, tmp_path: Path) -> None:
    lines = [("id", "name", "note"), *((f"bok_{n}", text, "end") for n, text in enumerate(TEXTS))]
    assert evaluated(BOM + csv_of([*lines, *((text, text) for text in TEXTS)]), separator, tmp_path) == []


@needs_libreoffice
def test_the_spreadsheet_would_evaluate_a_formula(tmp_path: Path) -> None:
    assert evaluated(b"id,name\r\n1,=1+2\r\n", "comma", tmp_path) == ["of:=1+2"]
