"""Wire models that are filled from rows."""

from dataclasses import dataclass
from enum import Enum

import pytest
from pydantic import create_model

from service.schemas.rows import filled


class Side(Enum):
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class Row:
    slot_id: str = "slot"
    created_ms: int = 1
    side: Side = Side.LEFT


@dataclass(frozen=True, slots=True)
class View:
    slot_id: str = "another slot"
    views: int = 2


Shown = create_model("Shown", slotId=(str, ...), createdAt=(int, ...), side=(str, ...), views=(int | None, None))


def test_each_field_is_the_given_value_or_that_of_the_first_row_that_has_it() -> None:
    assert filled(Shown, Row(), View()) == Shown(slotId="slot", createdAt=1, side="left", views=2)
    assert filled(Shown, Row(), View(), views=3) == Shown(slotId="slot", createdAt=1, side="left", views=3)


def test_a_field_that_no_row_has_is_an_error_even_with_a_default() -> None:
    with pytest.raises(AttributeError, match="views"):
        filled(Shown, Row())
