"""The health of a node in words: parts, troubles with their remedies, and the six figures. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from actors.clock import MINUTE_MS
from service.api.operations.node_status import sample_load
from service.web.pages.ops.status import MAIL_LATE_SECONDS, PARTS, parts_of, tiles_of, troubles_of
from tests.api.world import World
from tests.web.test_administration import boss


def actor(name: str = "quota", state: str = "running", accepting: bool = True, waiting: int = 0) -> dict[str, Any]:
    return {"name": name, "state": state, "accepting": accepting, "waiting": waiting, "capacity": 100}


def status(**changed: Any) -> dict[str, Any]:
    """The status of a node where all is well."""
    return {
        "ready": True,
        "problems": [],
        "actors": [actor()],
        "answers": {"count": 12_345, "failures": 0, "halfWithinMs": 2.5, "mostWithinMs": 25.0},
        "mail": {"waiting": 0, "oldestSeconds": 0.0},
        "database": {"busy": 1, "open": 4, "waiting": 0, "transactions": 1},
        "events": {"recorded": 7, "duplicate": 2, "unavailable": 0},
        "refusals": {"lastHour": [{"count": 3}, {"count": 4}]},
        "eventServers": [],
        "snapshots": [{"name": "catalog", "away": False}],
    } | changed


def troubles(**changed: Any) -> list[str]:
    told = status(**changed)
    return [f"{each.what} {each.remedy}" for each in troubles_of(told, parts_of(told["actors"]))]


def tile(name: str, **changed: Any) -> Sequence[str]:
    [found] = [each for each in tiles_of(status(**changed)) if each.name == name]
    return found[1:5]


def test_parts_in_trouble_stand_first_and_the_others_keep_their_order() -> None:
    actors = [actor("keys"), actor("mail", waiting=80), actor("quota", waiting=79), actor("bookings", state="failed")]
    assert [(part.actor["name"], part.tone, part.state) for part in parts_of(actors)] == [
        ("mail", "warm", "Nearly full"),
        ("bookings", "bad", "Failed"),
        ("keys", "good", "Running"),
        ("quota", "good", "Running"),
    ]


def test_a_part_that_takes_no_more_work_is_closed() -> None:
    [part] = parts_of([actor(accepting=False)])
    assert (part.tone, part.state) == ("bad", "Closed")


def test_one_of_several_dedupers_does_what_all_of_them_do() -> None:
    assert [part.does for part in parts_of([actor("events"), actor("events-3"), actor("session_reader")])] == [
        PARTS["events"],
        PARTS["events"],
        PARTS["session_reader"],
    ]
    assert parts_of([actor("something_new")])[0].does == ""


async def test_the_page_draws_the_last_hour_says_the_thresholds_and_has_processes_as_columns(world: World) -> None:
    summary = world.services.answers.count
    sample_load(world.services)
    for _ in range(3):
        summary("page", 500, 0.1, "internal_error")
    world.clock.at_ms += 2 * MINUTE_MS
    page = await boss(world).look("/ops")
    words = {each["aria-label"] for each in page.all("svg") if "aria-label" in each}
    assert "Failures in the last hour: 3, at most 3 in two minutes." in words
    assert "Mail in the last hour: at most 0." in words
    for limit in (
        "Look: from the first one.",
        "Late: once a mail has waited for 5 minutes.",
        "Busy: while a change waits",
    ):
        assert limit in page.text
    assert [each.text for each in page.all("th") if each.attributes["scope"] == "row"][:3] == [
        "Listens at",
        "Host",
        "Process id",
    ]
    assert "parts, all running" in page.text


async def test_every_part_of_a_node_says_what_it_does(world: World) -> None:
    names = [each.name for each in world.services.health.actors()]
    assert [name for name in names if not parts_of([actor(name)])[0].does] == []


def test_nothing_is_said_where_all_is_well() -> None:
    assert troubles() == []
    assert {each.tone for each in tiles_of(status())} == {"good"}
    assert len(tiles_of(status())) == 6


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"ready": False, "problems": ["the database is not available"]},
            "The database is not available. This process answers /readyz with",
        ),
        (
            {"problems": ["the coordinator cannot be used"]},
            "The coordinator cannot be used. This process stays ready, because it records events",
        ),
        (
            {"actors": [actor("quota", waiting=100)]},
            "The queue of quota is nearly full. Once it is full, requests get 503",
        ),
        (
            {"mail": {"waiting": 1, "oldestSeconds": 300.0}},
            "Mail is not going out. 1 mail waits, the oldest for 5 minutes",
        ),
        ({"mail": {"waiting": 14, "oldestSeconds": 1320.0}}, "14 mails wait, the oldest for 22 minutes"),
        (
            {"eventServers": [{"name": "two:5432", "available": False, "problems": []}]},
            "The event server two:5432 is in trouble. It does not answer.",
        ),
        (
            {"eventServers": [{"name": "two:5432", "available": True, "problems": ["a", "b"]}]},
            "The event server two:5432 is in trouble. a; b",
        ),
        (
            {"snapshots": [{"name": "catalog", "away": True}]},
            "The copy of the catalog may be out of date. The database does not answer",
        ),
    ],
)
def test_a_trouble_says_what_it_is_and_what_to_do(changed: Mapping[str, Any], words: str) -> None:
    [told] = troubles(**changed)
    assert words in told


def test_a_mail_that_waits_a_moment_is_no_trouble() -> None:
    assert troubles(mail={"waiting": 3, "oldestSeconds": MAIL_LATE_SECONDS - 0.1}) == []
    assert tile("Mail", mail={"waiting": 3, "oldestSeconds": 60.0}) == (
        "good",
        "Good",
        "3 waiting",
        "The oldest for 1 minute",
    )


def test_figures_turn_warm_with_what_goes_wrong() -> None:
    assert tile("Failures", answers={"count": 50, "failures": 2})[:3] == ("warm", "Look", "2 of 50")
    assert tile("Database", database={"busy": 4, "open": 4, "waiting": 1, "transactions": 9}) == (
        "warm",
        "Busy",
        "4 of 4 in use",
        "Connections. 1 change waits for one",
    )
    assert tile("Mail", mail={"waiting": 2, "oldestSeconds": 1_000.0})[:3] == ("warm", "Late", "2 waiting")
    assert tile("Views and clicks", events={"recorded": 0, "duplicate": 0, "unavailable": 1})[:2] == ("warm", "Look")


def test_times_are_said_as_bounds() -> None:
    assert tile("Requests")[2:] == ("12,345", "Half answered within 2.5 ms, 99 of 100 within 25 ms")
    slow = {"count": 2, "failures": 0, "halfWithinMs": 10_000.0}
    assert tile("Requests", answers=slow)[3] == "Half answered within 10 s, 99 of 100 within more than 10 s"
    assert tile("Requests", answers={"count": 0, "failures": 0})[3] == "Answered since this process started"


def test_refusals_of_the_last_hour_are_added_up() -> None:
    assert tile("Refused")[2] == "7"
