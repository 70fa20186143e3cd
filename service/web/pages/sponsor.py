"""A sponsor's overview and profile: what there is, and what to do next."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template

NEWEST = 10
"""How many campaigns and bookings the overview shows; lists of their own have all."""

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
    """What waits for the sponsor, the most urgent first: why, what to do, and where."""
    for each in bookings:
        if "heldUntil" in each:
            yield (
                f"{each['slotName']} is held for you and not paid.",
                "Pay or cancel",
                f"/sponsor/bookings/{each['id']}",
            )
    for each in campaigns:
        if each["status"] in ("rejected", "draft"):
            words = "was rejected" if each["status"] == "rejected" else "is a draft"
            yield f"The campaign {each['name']} {words}.", "Edit and submit it", f"/sponsor/campaigns/{each['id']}"
    if not campaigns:
        yield (
            "You have no campaign yet.",
            "Choose a free week: brand, creative and week in one form",
            "/sponsor/inventory",
        )
        yield "Or one by one:", "Make a campaign", "/sponsor/campaigns/new"
    if me["profile"] is None:
        yield "You have no profile yet; a booking needs one.", "Save your profile", "/sponsor/profile"
    elif campaigns and not bookings:
        yield "You have not booked a week yet.", "Choose a free week", "/sponsor/inventory"


async def profile(request: PageRequest) -> Template:
    me = (await request.ask("getSponsor")).or_refused()
    return Template("sponsor_profile.html", {"me": me})


async def save_profile(request: PageRequest) -> SeeOther | FormError:
    body = {name: request.form.get(name, "") for name in ("name", "website")}
    result = await request.ask("saveProfile", body=body)
    return SeeOther("/sponsor", "profile_saved") if result.refused is None else FormError(result.refused)


PAGES = (
    Page("/sponsor", overview, who=Audience.ACCOUNT),
    Page("/sponsor/profile", profile, {"save": save_profile}, Audience.ACCOUNT),
)
