"""The input of administrators for slots: bounds, absent fields, and null."""

import json
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from actors.bookings.messages import EditSlot
from actors.bookings.records import PackageKind, Side, Slot
from actors.values import Code, Refused
from service.api.openapi.models import SchemaWriter
from service.schemas.slots import COLUMNS, PackageName, SideName, SlotCreate, SlotEdit, offer_over

LEAST: dict[str, Any] = {"name": "Footer", "side": "left", "weekPriceCents": 50}
MOST: dict[str, Any] = {
    "id": "a-0" + "z" * 97,
    "name": "N" * 100,
    "side": "right",
    "weekPriceCents": 10_000_000,
    "active": False,
    "durationWeeks": 52,
    "comingSoon": True,
    "offerEndsAt": 2**53,
    "packageKind": "bundle",
    "description": "d" * 300,
}
WRONG = [
    ("id", ""),
    ("id", "a" * 101),
    ("id", "Upper"),
    ("id", "under_score"),
    ("id", "new\n"),
    ("id", 7),
    ("name", ""),
    ("name", "   "),
    ("name", "N" * 101),
    ("name", "two\nlines"),
    ("name", "bell\x07"),
    ("name", None),
    ("side", "top"),
    ("side", None),
    ("weekPriceCents", 49),
    ("weekPriceCents", 10_000_001),
    ("weekPriceCents", "100"),
    ("weekPriceCents", 99.5),
    ("weekPriceCents", True),
    ("weekPriceCents", None),
    ("active", "yes"),
    ("active", None),
    ("durationWeeks", 0),
    ("durationWeeks", 53),
    ("durationWeeks", None),
    ("comingSoon", 1),
    ("comingSoon", None),
    ("offerEndsAt", -1),
    ("offerEndsAt", 2**53 + 1),
    ("offerEndsAt", "2027-01-01"),
    ("packageKind", "radio"),
    ("description", ""),
    ("description", " \n "),
    ("description", "d" * 301),
    ("demo", True),
    ("retiredAt", 1),
]


def create(**fields: Any) -> SlotCreate:
    return SlotCreate.model_validate_json(json.dumps({**LEAST, **fields}))


def edit(**fields: Any) -> SlotEdit:
    return SlotEdit.model_validate_json(json.dumps(fields))


def test_the_minimum_and_the_maximum_are_accepted() -> None:
    assert create().arguments() == {
        "slot_id": None,
        "name": "Footer",
        "side": Side.LEFT,
        "week_price_cents": 50,
        "active": True,
        "weeks": 1,
        "coming_soon": False,
        "offer_ends_ms": None,
        "package_kind": None,
        "description": None,
    }
    most = create(**MOST).arguments()
    assert (most["slot_id"], most["package_kind"], most["side"]) == (MOST["id"], PackageKind.BUNDLE, Side.RIGHT)
    assert isinstance(most["package_kind"], PackageKind)
    assert isinstance(most["side"], Side)


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_values_out_of_bounds_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        create(**{name: value})
    assert [error["loc"] for error in caught.value.errors()] == [(name,)]
    if name != "id":
        with pytest.raises(ValidationError):
            edit(**{name: value})


@pytest.mark.parametrize("name", ["name", "side", "weekPriceCents"])
def test_a_new_slot_needs_a_name_a_side_and_a_price(name: str) -> None:
    with pytest.raises(ValidationError):
        SlotCreate.model_validate({key: value for key, value in LEAST.items() if key != name})


def test_an_edit_changes_its_fields_and_null_clears_them() -> None:
    with pytest.raises(ValidationError):
        edit()
    assert edit(name="New", active=False).arguments() == {"name": "New", "active": False}
    assert edit(offerEndsAt=None, packageKind=None, description=None, durationWeeks=2).arguments() == {
        "weeks": 2,
        "clear": ("offer_ends_ms", "package_kind", "description"),
    }
    everything = edit(**{name: value for name, value in MOST.items() if name != "id"}).arguments()
    assert everything.keys() == set(COLUMNS.values())


def test_an_id_is_never_edited() -> None:
    with pytest.raises(ValidationError):
        edit(id="other")


def test_arguments_are_those_of_the_ledger() -> None:
    assert create().arguments().keys() <= {"slot_id", *Slot.__dataclass_fields__}
    names = edit(**dict.fromkeys(("offerEndsAt", "packageKind", "description")), name="x").arguments()
    assert {*names, *COLUMNS.values()} <= set(EditSlot.__dataclass_fields__)


def test_names_are_those_of_the_records() -> None:
    assert set(get_args(SideName)) == set(Side)
    assert set(get_args(PackageName)) == set(PackageKind)


def test_an_offer_must_end_in_the_future() -> None:
    for make in (create, edit):
        refused = offer_over(make(offerEndsAt=1_000), 1_000)
        assert isinstance(refused, Refused)
        assert refused.code is Code.INVALID_REQUEST
        assert offer_over(make(offerEndsAt=1_001), 1_000) is None
        assert offer_over(make(name="Another"), 1_000) is None


def test_the_document_has_no_default_that_would_be_an_error() -> None:
    properties = SlotEdit.model_json_schema(schema_generator=SchemaWriter)["properties"]
    assert properties.keys() == set(COLUMNS)
    assert not [name for name, schema in properties.items() if "default" in schema]
    assert "required" not in SlotEdit.model_json_schema()
    assert properties["name"]["maxLength"] == 100
    assert properties["description"]["anyOf"][0]["maxLength"] == 300
