"""From a booking to its shard: the ranges, and the hash, compared with some values of Postgres's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.events.shards import FIRST, LAST, Shard, ShardMap, text_hash


def equal(count: int) -> list[Shard]:
    """Shards of equal ranges, numbered from 100."""
    ends = [FIRST + place * 2**32 // count for place in range(count + 1)]
    return [Shard(100 + place, ends[place], ends[place + 1] - 1) for place in range(count)]


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", -1_477_818_771),
        ("bok_1", -1_583_151_476),
        ("twelve bytes", 652_846_557),
        ("more than twelve bytes", 1_003_777_187),
        ("zażółć gęślą jaźń", 745_884_310),
    ],
)
def test_a_text_hashes_as_postgres_says(text: str, hashed: int) -> None:
    assert text_hash(text) == hashed


@given(st.text())
def test_a_hash_is_a_signed_number_of_32_bits(text: str) -> None:
    assert FIRST <= text_hash(text) <= LAST


@given(st.text(max_size=40), st.integers(1, 64))
def test_a_booking_lies_in_the_one_shard_whose_range_holds_its_hash(booking_id: str, count: int) -> None:
    shards = ShardMap(list(reversed(equal(count))))
    shard = shards.shard_of(booking_id)
    assert len(shards) == count
    assert shard.first <= text_hash(booking_id) <= shard.last
    assert shard.id == 100 + shards.place_of(booking_id)


def test_a_shard_may_hold_a_single_hash() -> None:
    """The engine makes such a shard to isolate a booking."""
    alone = text_hash("bok_1")
    shards = ShardMap([Shard(1, FIRST, alone - 1), Shard(2, alone, alone), Shard(3, alone + 1, LAST)])
    assert shards.shard_of("bok_1").id == 2
    assert {shards.shard_of(f"bok_{number}").id for number in range(2, 50)} == {1, 3}


@pytest.mark.parametrize(
    "shards",
    [
        [],
        [Shard(1, FIRST, LAST - 1)],
        [Shard(1, FIRST + 1, LAST)],
        [Shard(1, FIRST, 0), Shard(2, 2, LAST)],
        [Shard(1, FIRST, 0), Shard(2, 0, LAST)],
    ],
    ids=["none", "no last", "no first", "a gap", "one twice"],
)
def test_ranges_that_leave_hashes_out_or_hold_some_twice_are_no_map(shards: list[Shard]) -> None:
    with pytest.raises(ValueError, match="leave gaps or overlap"):
        ShardMap(shards)
