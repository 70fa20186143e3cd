"""A sponsor's reports: all bookings of some days, and one booking on a page that prints well."""

from urllib.parse import urlencode

from service.api.errors import message_of
from service.web.pages.bookings import chart_of
from service.web.pages.page import Audience, Page, PageRequest, Template


async def report(request: PageRequest) -> Template:
    """The sums of the asked days. Days that cannot be reported are refused above the form."""
    asked = {name: request.query.get(name) or None for name in ("from", "to")}
    result = await request.ask("listDeliveries", query=asked)
    shown = result.json if result.refused is None else None
    days = {"from": shown["from"], "to": shown["to"]} if shown else asked
    values = {
        "days": days,
        "report": shown,
        "refused": None if result.refused is None else message_of(result.refused),
        "csv": f"/api/v1/sponsors/delivery?{urlencode({**{k: v for k, v in days.items() if v}, 'format': 'csv'})}",
    }
    return Template("sponsor_reports.html", values)


async def booking_report(request: PageRequest) -> Template:
    read = (await request.ask("getBooking", path=request.path_values)).or_refused()
    delivery = (await request.ask("getDelivery", path=request.path_values)).or_refused()
    values = {
        "booking": read["booking"],
        "receipt": read["receipt"],
        "delivery": delivery,
        "chart": chart_of(delivery, read["booking"]["weekEnd"], request.now_ms),
        "now_ms": request.now_ms,
    }
    return Template("sponsor_report.html", values)


PAGES = (
    Page("/sponsor/reports", report, who=Audience.ACCOUNT),
    Page("/sponsor/bookings/{id}/report", booking_report, who=Audience.ACCOUNT),
)
