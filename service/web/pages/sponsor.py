"""A sponsor's overview, with what to do next, and their profile."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from service.web.pages.field_errors import Field, Form
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.sentences import ADDRESS
from service.web.pages.typed import address_of, line_of

NEWEST = 10
"""Campaigns and bookings on the overview; separate lists have all of them."""

BRAND = {"name": Field("Brand", "Write the name of your brand."), "website": Field("Website", ADDRESS)}

Json = Mapping[str, Any]


async def overview(request: PageRequest) -> Template:
    me = (await request.ask("getSponsor")).or_refused()
    campaigns = (await request.ask("listCampaigns", query={"limit": NEWEST})).or_refused()
    bookings = (await request.ask("listBookings", query={"limit": NEWEST})).or_refused()
    values = {
        "me": me,
        "campaigns": campaigns,
        "bookings": bookings,
        "steps": list(next_steps(me, campaigns["items"], bookings["items"])),
        "now_ms": request.now_ms,
    }
    return Template("sponsor.html", values)


def next_steps(me: Json, campaigns: Sequence[Json], bookings: Sequence[Json]) -> Iterator[tuple[str, str, str]]:
    """The open tasks, the most urgent first: the reason, the action, and its address."""
    for each in bookings:
        if "heldUntil" in each:
            words = f"{each['slotName']} is held for you and not paid."
            yield words, "Pay or cancel", f"/sponsor/bookings/{each['id']}"
    for each in campaigns:
        if each["status"] in ("rejected", "draft"):
            words = "was not approved" if each["status"] == "rejected" else "is still a draft"
            yield (
                f"Your ad {each['name']} {words}.",
                "Edit it and send it for review",
                f"/sponsor/campaigns/{each['id']}",
            )
    if not campaigns:
        words = "Choose a free week, and write your ad in the same form"
        yield "You have no ads yet.", words, "/sponsor/inventory"
        yield "You can also do it step by step.", "Write an ad", "/sponsor/campaigns/new"
    if me["profile"] is None:
        yield "You have no profile yet. A booking needs one.", "Save your profile", "/sponsor/profile"
    elif campaigns and not bookings:
        yield "You have not booked a week yet.", "Choose a free week", "/sponsor/inventory"


async def profile(request: PageRequest) -> Template:
    me = (await request.ask("getSponsor")).or_refused()
    return Template("sponsor_profile.html", {"me": me})


async def save_profile(request: PageRequest) -> SeeOther | FormError:
    body = {"name": line_of(request.form, "name"), "website": address_of(request.form, "website")}
    result = await request.ask("saveProfile", body=body)
    return result.see_other("/sponsor", "profile_saved")


PAGES = (
    Page("/sponsor", overview, who=Audience.ACCOUNT),
    Page("/sponsor/profile", profile, {"save": save_profile}, Audience.ACCOUNT, forms={"save": Form(BRAND)}),
)
