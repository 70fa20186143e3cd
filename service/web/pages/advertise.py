"""The page for people who want to be seen beside the catalog: what it costs, when slots are free, and how it works."""

from actors.times import MINUTE_MS, SECOND_MS
from service.web.pages.page import Page, PageRequest, Template


async def advertise(request: PageRequest) -> Template:
    card = (await request.ask("getRateCard")).or_refused()
    values = {
        "card": card,
        "lowest": min((slot["weekPriceCents"] for slot in card["slots"]), default=None),
        "any_free": any(slot["nextWeeks"] for slot in card["slots"]),
        "hold_seconds": request.config.bookings.hold_minutes * MINUTE_MS // SECOND_MS,
        "horizon_weeks": request.config.bookings.horizon_weeks,
        "refund_unshown": request.config.bookings.refund_unshown,
        "bucket_hours": request.config.events.bucket_hours,
    }
    return Template("advertise.html", values)


PAGES = (Page("/advertise", advertise, indexed=True),)
