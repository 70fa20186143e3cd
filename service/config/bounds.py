"""The types and checks that the sections of the configuration share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
Factor = Annotated[int, Field(ge=1, le=1_000)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def below(name: str, value: float, other: str, bound: float) -> None:
    if not value < bound:
        raise ValueError(f"{name} ({value:g}) must be below {other} ({bound:g})")


def at_most(name: str, value: float, other: str, bound: float) -> None:
    if not value <= bound:
        raise ValueError(f"{name} ({value:g}) must be at most {other} ({bound:g})")
