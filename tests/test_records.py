"""Documents: every link leads to a file and a heading, and the decision records are complete and indexed."""

import re

from tests.architecture import ROOT

DOCUMENTS = sorted(path for part in (".", "docs", "docs/adr", "bench", "tests") for path in (ROOT / part).glob("*.md"))
RECORDS = sorted((ROOT / "docs/adr").glob("0*.md"))
LONGEST = 60
"""Lines of a record."""


def test_every_link_of_a_document_leads_somewhere() -> None:
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for address, heading in re.findall(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)", text):
            target = path.parent / address if address else path
            assert target.exists(), f"{path.name}: {address}"
            assert not heading or heading in _anchors(target.read_text(encoding="utf-8")), (
                f"{path.name}: {address}#{heading}"
            )


def test_the_index_lists_each_record_once_by_its_title() -> None:
    index = (ROOT / "docs/adr/README.md").read_text(encoding="utf-8")
    for path in RECORDS:
        title = path.read_text(encoding="utf-8").splitlines()[0].partition(". ")[2]
        assert index.count(f"- [{path.name[:4]}]({path.name}) {title}\n") == 1, path.name
    assert index.count("\n- [0") == len(RECORDS)


def test_a_record_has_a_decision_and_what_was_rejected() -> None:
    for path in RECORDS:
        lines = path.read_text(encoding="utf-8").splitlines()
        sections = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
        assert sections == ["Context", "Decision", "Consequences", "Rejected"], path.name
        assert len(lines) <= LONGEST, path.name


def test_modules_name_records_that_exist() -> None:
    numbers = {path.name[:4] for path in RECORDS}
    for package in ("actors", "service", "storage", "tests"):
        for path in (ROOT / package).rglob("*.py"):
            for named in re.findall(r"ADR (\d{4}(?:(?:, | and )\d{4})*)", path.read_text(encoding="utf-8")):
                assert set(re.findall(r"\d{4}", named)) <= numbers, f"{path}: {named}"


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
