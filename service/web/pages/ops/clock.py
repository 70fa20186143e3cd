"""The clock of a service for developers: shows the time, and moves it forward. Only this machine can see it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from actors.times import DAY_MS, HOUR_MS, SECOND_MS, WEEK_MS, week_of
from actors.values import Code
from service.web.pages.parts.forms import Field, Form, above, moment_of
from service.web.pages.parts.messages import CHOOSE_TIME
from service.web.pages.parts.page import Act, FormError, Page, PageRequest, SeeOther, Template

PATH = "/dev/clock"
TOO_FAR = "The clock can be at most 1,000 days ahead of that of this machine."


async def clock(request: PageRequest) -> Template:
    state = (await request.ask("readClock")).or_raise()
    values = {"now": state["now"], "ahead": state["aheadSeconds"], "days": request.config.sessions.days}
    return Template("dev_clock.html", values)


async def advance(request: PageRequest, by_ms: int) -> SeeOther | FormError:
    return await _press(request, {"advanceSeconds": by_ms // SECOND_MS})


async def to_next_week(request: PageRequest) -> SeeOther | FormError:
    return await _press(request, {"to": week_of(request.now_ms) + WEEK_MS})


async def to_time(request: PageRequest) -> SeeOther | FormError:
    text = request.form.get("to", "")
    return await _move(request, {"to": moment_of(text) or text})


async def _press(request: PageRequest, body: dict[str, Any]) -> SeeOther | FormError:
    """Buttons have no field that could be wrong, so only the distance can be."""
    moved = await _move(request, body)
    if isinstance(moved, FormError) and moved.refused.code is Code.INVALID_REQUEST:
        return FormError(above(Code.INVALID_REQUEST, TOO_FAR))
    return moved


async def _move(request: PageRequest, body: dict[str, Any]) -> SeeOther | FormError:
    return (await request.ask("moveClock", body=body)).see_other(PATH, "clock_moved")


BUTTONS: Mapping[str, Act] = {
    "hour": partial(advance, by_ms=HOUR_MS),
    "day": partial(advance, by_ms=DAY_MS),
    "week": partial(advance, by_ms=WEEK_MS),
    "next-week": to_next_week,
}
FORM = Form({"to": Field("Time", CHOOSE_TIME, "Choose a time that is not over, at most 1,000 days from today.")})
PAGES = (Page(PATH, clock, {**BUTTONS, "time": to_time}, forms={"time": FORM}, json="moveClock"),)
