"""The demo with real processes: the first start adds it, commands move or remove it, and it stays removed."""

from pathlib import Path

from tests.acceptance.postgres import ask
from tests.acceptance.processes import Service, serving


def counted(service: Service, table: str) -> int:
    [row] = ask(service.sockets, f"select count(*) as rows from {table} where demo")
    return int(row["rows"])


def audited(service: Service) -> list[tuple[str, str]]:
    rows = ask(
        service.sockets,
        "select action, actor_type from audit where target_type = 'demo' order by created_ms, id",
    )
    return [(row["action"], row["actor_type"]) for row in rows]


def test_the_first_start_has_a_demo_and_one_that_was_taken_away_stays_away(data_dir: Path) -> None:
    with serving(data_dir) as service:
        assert counted(service, "slots") == 9
        assert counted(service, "sponsors") == 2
        assert audited(service) == [("demo.seeded", "system")]
        removed, wrote = service.command("seed-demo").splitlines()
        assert removed.startswith("removed ")
        assert wrote.startswith("wrote 2 sponsors, 9 slots, 8 campaigns, 27 bookings and ")
        assert counted(service, "bookings") == 27
        assert service.command("seed-demo", "--remove").startswith("removed ")
        assert service.command("seed-demo", "--remove").startswith("there was no demo")
        assert [counted(service, table) for table in ("slots", "sponsors", "campaigns", "bookings")] == [0] * 4
        service.stop()
    with serving(data_dir) as service:
        assert counted(service, "slots") == 0
        assert audited(service) == [
            ("demo.seeded", "system"),
            ("demo.seeded", "cli"),
            ("demo.removed", "cli"),
            ("demo.removed", "cli"),
        ]
