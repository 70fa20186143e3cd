"""The commands for slots, alone and beside a running server, over real processes."""

from pathlib import Path

from tests.acceptance.processes import complaint, run, serving


def rows_of(printed: str) -> dict[str, list[str]]:
    """The lines of a table by their first cell; cells are two spaces apart."""
    head, *lines = printed.splitlines()
    assert head.split() == ["ID", "NAME", "SIDE", "CENTS", "A", "WEEK", "WEEKS", "PACKAGE", "STATE"]
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_an_operator_makes_changes_and_retires_a_slot(data_dir: Path) -> None:
    alone = ("--data-dir", data_dir)
    made = ("create-slot", "--name", "Footer", "--side", "left", "--week-price-cents", "2500")
    assert run(*made, "--id", "footer", *alone).stdout == "footer\n"
    with serving(data_dir) as service:
        again = run(*made, "--id", "footer", *alone)
        assert "There is a slot with the id footer already." in complaint(again)
        unnamed = service.command(*made, "--package", "website", "--coming-soon").strip()
        assert unnamed.startswith("slt_")

        ends = ("--offer-ends", "2099-12-31T00:00Z")
        edited = service.command("edit-slot", "footer", "--weeks", "4", "--week-price-cents", "2000", *ends)
        assert rows_of(edited) == {"footer": ["Footer", "left", "2000", "4", "-", "on sale until 2099-12-31 00:00 UTC"]}
        service.command("edit-slot", "footer", "--no-offer-end", "--inactive")
        listed = rows_of(service.command("list-slots"))
        assert listed["footer"][-1] == "inactive"
        assert listed[unnamed] == ["Footer", "left", "2500", "1", "website", "coming soon"]
        assert not [row for row in listed.values() if row[-1].endswith("demo")], "an operator was here first"

        assert rows_of(service.command("retire-slot", "footer"))["footer"][-1] == "retired"
        unknown = run("retire-slot", "no-such-slot", *alone)
        assert "There is no such slot." in complaint(unknown)
