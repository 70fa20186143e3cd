"""The page for people who want to be seen beside the catalog: what it is, what it costs and when it is free; and a report of
sample figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.times import DAY_MS, MINUTE_MS, SECOND_MS, WEEK_MS, day_of, week_of
from service.snapshots.turns import share
from service.web.pages.parts.booking_words import run_of
from service.web.pages.parts.miniature import Miniature, miniature
from service.web.pages.parts.page import Page, PageRequest, Template
from service.web.pages.sponsor.booking import figures_of

SIDES = ("left", "right")

KINDS: Mapping[str, tuple[str, str]] = {
    "website": ("An ad", "Your ad on one side of the catalog, beside every list and every entry."),
    "bundle": ("An ad and a video", "The same ad, and a video that shows what you offer."),
    "youtube": ("A video", "A video about what you offer, with an ad beside the catalog meanwhile."),
}
"""By kind of a package: its title, and what it has."""


Slot = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Package:
    """The slots of a kind. `slot` is the one to begin with, and `why` the reason if the package is recommended."""

    title: str
    text: str
    slot: Slot
    number: int
    why: str
    picture: Miniature


async def advertise(request: PageRequest) -> Template:
    card = (await request.ask("getRateCard")).or_raise()
    listed = await request.ask("listPlacements")
    ads = Counter(each["side"] for each in listed.json["placements"]) if listed.refused is None else Counter[str]()
    at_once = request.config.site.ads_per_side
    slots = free_first(card["slots"])
    values = {
        "card": card,
        "slots": slots,
        "packages": packages(slots, ads, at_once),
        "lowest": min((slot["weekPriceCents"] for slot in card["slots"]), default=None),
        "picture": miniature(
            ads, tuple(side for side in SIDES if any(slot["side"] == side for slot in slots)), at_once
        ),
        "ads": ads,
        "at_once": at_once,
        "share": min(share(number, at_once) for number in (1, *ads.values())),
        "audience": request.config.advertise.audience,
        "hold_seconds": request.config.bookings.hold_minutes * MINUTE_MS // SECOND_MS,
        "horizon_weeks": request.config.bookings.horizon_weeks,
        "refund_unshown": request.config.bookings.refund_unshown,
    }
    return Template("advertise.html", values)


def is_free(slot: Slot) -> bool:
    return bool(slot["nextWeeks"]) and not slot["comingSoon"]


def free_first(slots: Sequence[Slot]) -> list[Slot]:
    """The slots that are free soonest, then those that are taken, then those that are not sold yet."""

    def place(slot: Slot) -> tuple[bool, bool, int, int]:
        soonest = slot["nextWeeks"][0]["weekStart"] if is_free(slot) else 0
        return slot["comingSoon"], not is_free(slot), soonest, slot["weekPriceCents"]

    return sorted(slots, key=place)


def packages(slots: Sequence[Slot], ads: Mapping[str, int], at_once: int) -> list[Package]:
    """A package for each kind that has a free week, with its cheapest slot, if there are several kinds. One is recommended:
    the one of the slot that past bookings showed most often for its price, else the cheapest."""
    free = [slot for slot in slots if is_free(slot)]
    kinds = {kind: [slot for slot in free if slot.get("packageKind", "website") == kind] for kind in KINDS}
    kinds = {kind: sold for kind, sold in kinds.items() if sold}
    if len(kinds) <= 1:
        return []
    known = [slot for slot in free if slot.get("reach")]
    best = max(known, key=_shown_for_a_cent) if known else min(free, key=lambda slot: int(slot["weekPriceCents"]))
    why = "Shown most often for its price so far" if known else "The lowest price to begin with"
    found = []
    for kind, sold in kinds.items():
        recommended = best in sold
        slot = best if recommended else min(sold, key=lambda each: int(each["weekPriceCents"]))
        picture = miniature(ads, (slot["side"],), at_once)
        found.append(Package(*KINDS[kind], slot, len(sold), why if recommended else "", picture))
    return found


def _shown_for_a_cent(slot: Slot) -> float:
    reach = slot["reach"]
    return float(reach["impressions"] / reach["weeks"] / slot["weekPriceCents"])


# The sample report.

SAMPLE_WEEKS = 2
SAMPLE_SHOWN = (1_310, 1_420, 1_395, 1_460, 1_280, 720, 690, 1_345, 1_450, 1_430, 1_510, 1_330, 740, 705)
SAMPLE_CLICKS = (17, 20, 18, 22, 15, 8, 7, 19, 21, 20, 24, 16, 9, 8)
SAMPLE_FILTERED = {"duplicate": 2_105, "crawler": 388, "prefetch": 64, "capped": 12, "inactive": 0}


async def sample_report(request: PageRequest) -> Template:
    """The report of a booking that nobody made, in the template of real ones. Its weeks are the last that are over."""
    end_ms = week_of(request.now_ms)
    start_ms = end_ms - SAMPLE_WEEKS * WEEK_MS
    shown = {
        "id": "sample",
        "slotId": "sample",
        "slotName": "Left column",
        "campaignName": "A sample ad",
        "weekStart": start_ms,
        "weekEnd": end_ms,
        "status": "paid",
        "amountCents": 19_800,
        "currency": "usd",
        "createdAt": start_ms - DAY_MS,
        "nextStep": "read_report",
        "impressions": sum(SAMPLE_SHOWN),
        "clicks": sum(SAMPLE_CLICKS),
    }
    days = [(day_of(start_ms) + number) * DAY_MS for number in range(len(SAMPLE_SHOWN))]
    delivery = {
        "items": [
            {"day": day, "impressions": impressions, "clicks": clicks}
            for day, impressions, clicks in zip(days, SAMPLE_SHOWN, SAMPLE_CLICKS, strict=True)
        ],
        "impressions": sum(SAMPLE_SHOWN),
        "clicks": sum(SAMPLE_CLICKS),
        "ctr": sum(SAMPLE_CLICKS) / sum(SAMPLE_SHOWN),
        "filtered": SAMPLE_FILTERED,
    }
    at_once = request.config.site.ads_per_side
    week = {"ads": at_once + 1, "share": share(at_once + 1, at_once)}
    values: dict[str, Any] = {
        "sample": True,
        "booking": shown,
        "receipt": {
            "paidAt": shown["createdAt"],
            "amountCents": shown["amountCents"],
            "currency": "usd",
            "refundedCents": 0,
        },
        "sponsor": "Example Tools",
        "voice": {"side": "left", "slots": at_once + 1, "floor": week["share"], "weeks": [week]},
        "run": run_of(shown, request.now_ms),
        "now_ms": request.now_ms,
    }
    return Template("sponsor_report.html", values | await figures_of(request, shown, values["receipt"], delivery))


PAGES = (
    Page("/advertise", advertise, indexed=True),
    Page("/advertise/sample-report", sample_report),
)
