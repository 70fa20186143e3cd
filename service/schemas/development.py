"""Bodies and results of the operations for developers. They are not part of the public API."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from actors.times import DAY_MS, SECOND_MS
from service.schemas.fields import MillisecondsIn, Strict

MOST_AHEAD_MS = 1_000 * DAY_MS
"""The most by which a clock may be ahead of the machine's: longer than the longest life of rows, which is 730 days."""


def _in_milliseconds(to: Any) -> Any:
    """Epoch milliseconds of a text in ISO 8601. What is no text is for the checks of a number."""
    if not isinstance(to, str):
        return to
    try:
        moment = datetime.fromisoformat(to)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()) * SECOND_MS
    except (ValueError, OverflowError):
        raise ValueError("must be a time such as 2026-12-07T00:00:00Z, or epoch milliseconds") from None


class ClockMove(Strict):
    """Where to move the clock: ahead by so many seconds, or to a time in epoch milliseconds or ISO 8601 (UTC if it has no
    offset)."""

    advanceSeconds: Annotated[int, Field(ge=0, le=MOST_AHEAD_MS // SECOND_MS)] | None = None
    to: Annotated[MillisecondsIn, BeforeValidator(_in_milliseconds)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.advanceSeconds is None) == (self.to is None):
            raise ValueError("must have either advanceSeconds or to")
        return self

    def target_ms(self, now_ms: int) -> int:
        """The time to move to, in epoch milliseconds."""
        return now_ms + self.advanceSeconds * SECOND_MS if self.advanceSeconds is not None else self.to or 0


class ClockState(BaseModel):
    """The time of the service in epoch milliseconds, and by how many seconds it is ahead of the machine's."""

    now: int
    aheadSeconds: int
