"""The commands for slots as real processes, alone and beside a running server."""

from pathlib import Path

from tests.acceptance.processes import command, complaint, run_all, serving


def rows_of(printed: str) -> dict[str, list[str]]:
    """The rows of a printed table by their first cell. Cells are separated by two spaces."""
    head, *lines = printed.splitlines()
    assert head.split() == ["ID", "NAME", "SIDE", "CENTS", "A", "WEEK", "WEEKS", "PACKAGE", "STATE"]
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_an_operator_makes_changes_and_retires_a_slot(data_dir: Path) -> None:
    alone = ("--data-dir", data_dir)
    made = ("create-slot", "--name", "Footer", "--side", "left", "--week-price-cents", "2500")
    assert command(*made, "--id", "footer", *alone) == "footer\n"
    with serving(data_dir) as service:
        again, created, unknown = run_all(
            (*made, "--id", "footer", *alone),
            (*made, "--package", "website", "--coming-soon", *alone),
            ("retire-slot", "no-such-slot", *alone),
        )
        assert "A slot with the id footer already exists." in complaint(again)
        assert "There is no such slot." in complaint(unknown)
        unnamed = created.stdout.strip()
        assert unnamed.startswith("slt_")

        ends = ("--offer-ends", "2099-12-31T00:00Z")
        edited = service.command("edit-slot", "footer", "--weeks", "4", "--week-price-cents", "2000", *ends)
        kept = ["Footer", "left", "2000", "4", "-"]
        assert rows_of(edited) == {"footer": [*kept, "on sale until 2099-12-31 00:00 UTC"]}
        service.command("retire-slot", "footer")
        assert rows_of(service.command("list-slots")) == {
            "footer": [*kept, "retired"],
            unnamed: ["Footer", "left", "2500", "1", "website", "coming soon"],
        }, "and no demo, since an operator was here first"
