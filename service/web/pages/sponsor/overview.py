"""A sponsor's overview: what waits for them, what runs, what comes and is over, and the sums; and their profile."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from actors.clock import DAY_MS
from actors.times import day_of
from service.schemas.countries import COUNTRIES
from service.web.pages.parts import words
from service.web.pages.parts.booking_words import HELD, days_left, first_day, period
from service.web.pages.parts.forms import Field, Form, address_of, line_of, text_of
from service.web.pages.parts.messages import ADDRESS
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template

NEWEST = 50
"""The newest ads, among which those that wait for their sponsor are found."""

MAX_TASKS = 6
MAX_RUNNING = 6
"""Running bookings with a card; further ones are in the table."""

MAX_LISTED = 12
"""Bookings in the table; all are under Bookings."""

BRAND = {"name": Field("Brand", "Write the name of your brand."), "website": Field("Website", ADDRESS)}

NOT_NEEDED = ("taxId", "reference", "email")
BILLING = {
    "legalName": Field("Legal name", "Write the legal name of the company or person."),
    "address": Field("Address", "Write the postal address."),
    "country": Field("Country", "Choose a country.", right="Choose a country."),
    "taxId": Field("Tax number"),
    "reference": Field("Reference"),
    "email": Field("Email on invoices"),
}
COUNTRIES_BY_NAME = [("", "Choose a country"), *sorted(COUNTRIES.items(), key=itemgetter(1))]

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """Something that waits for the sponsor. `held_ms` is the end of a hold, `pay_cents` what its button pays, at `path`."""

    title: str
    rest: str
    button: str
    path: str
    held_ms: int | None = None
    pay_cents: int | None = None
    currency: str = "usd"


@dataclass(frozen=True, slots=True)
class Run:
    """A running booking with the times shown on each of its days, None for a day to come."""

    booking: Json
    counts: Sequence[int | None]
    days_left: int


async def overview(request: PageRequest) -> Template:
    now_ms = request.now_ms
    me = (await request.ask("getSponsor")).or_raise()
    campaigns = (await request.ask("listCampaigns", query={"limit": NEWEST})).or_raise()["items"]
    read = (await request.ask("readOverview")).or_raise()
    running = [each for each in read["present"] if each["nextStep"] == "watch_delivery"][:MAX_RUNNING]
    others = [each for each in read["present"] if each not in running] + read["past"]
    tasks = list(tasks_of(me, campaigns, read["present"], now_ms))
    values = {
        "me": me,
        "first": not read["bookings"] and not campaigns,
        "tasks": tasks[:MAX_TASKS],
        "more_tasks": len(tasks) - MAX_TASKS,
        "running": [await _run(request, each) for each in running],
        "bookings": others[:MAX_LISTED],
        "total": read,
        "since": since_of(read),
        "hold_minutes": request.config.bookings.hold_minutes,
        "now_ms": now_ms,
    }
    return Template("sponsor.html", values)


def tasks_of(me: Json, campaigns: Sequence[Json], bookings: Sequence[Json], now_ms: int) -> Iterator[Task]:
    """The tasks of the sponsor, the most urgent first: holds, ads that are paid for and cannot be shown, other ads."""
    held = [each for each in bookings if each["status"] in HELD]
    for each in sorted(held, key=lambda each: each["heldUntil"]):
        yield Task(
            f"Pay for {each['slotName']}, {period(each, now_ms)}",
            "",
            "",
            f"/sponsor/bookings/{each['id']}",
            held_ms=each["heldUntil"],
            pay_cents=each["amountCents"],
            currency=each["currency"],
        )
    for each in bookings:
        if each["nextStep"] in BLOCKED:
            is_so, button, page = BLOCKED[each["nextStep"]]
            when = period(each, now_ms)
            path = f"/sponsor/{page}/{each['id'] if page == 'bookings' else each['campaignId']}"
            yield Task(f"“{each['campaignName']}” {is_so}", f"You paid for {each['slotName']}, {when}.", button, path)
    paid_for = {each["campaignId"] for each in bookings if each["nextStep"] in BLOCKED}
    for each in campaigns:
        if each["status"] in UNSENT and each["id"] not in paid_for:
            is_so, rest, button = UNSENT[each["status"]]
            yield Task(f"“{each['name']}” {is_so}", rest, button, f"/sponsor/campaigns/{each['id']}")
    if me["profile"] is None and campaigns:
        yield Task(
            "You have no profile yet", "A booking needs your brand and its website.", "Save your profile", PROFILE
        )


PROFILE = "/sponsor/profile"
BLOCKED: Mapping[str, tuple[str, str, str]] = {
    "edit_campaign": ("was not approved", "See what you can do", "bookings"),
    "submit_campaign": ("is still a draft", "Open the draft", "campaigns"),
    "resume_campaign": ("is paused", "Open the ad", "campaigns"),
}
"""Paid bookings whose ad cannot be shown, by their next step: what is so, a button, and where it leads."""

UNSENT: Mapping[str, tuple[str, str, str]] = {
    "rejected": ("was not approved", "Edit it and send it again to have it shown.", "Edit the ad"),
    "draft": ("is still a draft", "Send it for review to have it shown.", "Open the draft"),
}


async def _run(request: PageRequest, booking: Json) -> Run:
    delivery = (await request.ask("getDelivery", path={"id": booking["id"]})).or_raise()
    counted = {each["day"]: each["impressions"] for each in delivery["items"]}
    today = day_of(request.now_ms)
    days = range(day_of(first_day(booking)), day_of(booking["weekEnd"]))
    counts = [None if day > today else counted.get(day * DAY_MS, 0) for day in days]
    return Run(booking, counts, days_left(booking["weekEnd"], request.now_ms))


def since_of(read: Json) -> str:
    """The bookings that the sums of the overview are over."""
    if read["more"]:
        return f"Your newest {read['bookings']:,} bookings"
    return "" if read["sinceMs"] is None else f"Since {words.month(read['sinceMs'])}"


async def profile(request: PageRequest) -> Template:
    me = (await request.ask("getSponsor")).or_raise()
    billing = (await request.ask("getBillingDetails")).or_raise()["billingDetails"]
    return Template("sponsor_profile.html", {"me": me, "billing": billing, "countries": COUNTRIES_BY_NAME})


async def save_profile(request: PageRequest) -> SeeOther | FormError:
    body = {"name": line_of(request.form, "name"), "website": address_of(request.form, "website")}
    result = await request.ask("saveProfile", body=body)
    return result.see_other("/sponsor", "profile_saved")


async def save_billing(request: PageRequest) -> SeeOther | FormError:
    lines = (line.strip() for line in (text_of(request.form, "address") or "").split("\n"))
    typed = {name: line_of(request.form, name) for name in BILLING if name != "address"}
    body = {name: text for name, text in typed.items() if text or name not in NOT_NEEDED}
    result = await request.ask("saveBillingDetails", body={**body, "address": "\n".join(filter(None, lines))})
    return result.see_other("/sponsor/profile", "billing_details_saved")


FORMS = {"save": Form(BRAND), "save-billing": Form(BILLING)}
PAGES = (
    Page("/sponsor", overview, who=Audience.ACCOUNT),
    Page(
        "/sponsor/profile", profile, {"save": save_profile, "save-billing": save_billing}, Audience.ACCOUNT, forms=FORMS
    ),
)
