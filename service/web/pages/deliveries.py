"""The bookings of all sponsors, for administrators: refunds, and the progress of videos."""

from actors.values import Code, Refused
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.paging import following, this_page
from service.web.pages.typed import text_of

FAILED_REFUNDS = ("refund_declined", "refund_failed")
"""Payment issues after which an administrator may order the refund again."""


async def bookings(request: PageRequest) -> Template:
    page = (await request.ask("listAllBookings", query={"cursor": request.query.get("cursor")})).or_refused()
    values = {
        "bookings": page["items"],
        "failed_refunds": FAILED_REFUNDS,
        "action": this_page(request, "cursor"),
        "older": following(request, page),
    }
    return Template("admin_bookings.html", values)


async def refund(request: PageRequest) -> SeeOther | FormError:
    if request.form.get("sure") != "yes":
        return FormError(Refused(Code.INVALID_REQUEST, "Tick the box to confirm the full refund."))
    reason = text_of(request.form, "reason")
    body = None if reason is None else {"reason": reason}
    result = await request.ask("refundBooking", path={"id": request.form.get("booking", "")}, body=body)
    return result.see_other(this_page(request, "cursor"), "refund_ordered")


async def describe(request: PageRequest) -> SeeOther | FormError:
    body = {
        "youtubeStatus": request.form.get("youtubeStatus", ""),
        "youtubeUrl": text_of(request.form, "youtubeUrl"),
        "youtubeNotes": text_of(request.form, "youtubeNotes"),
    }
    result = await request.ask("describeVideo", path={"id": request.form.get("booking", "")}, body=body)
    return result.see_other(this_page(request, "cursor"), "video_saved")


PAGES = (Page("/admin/bookings", bookings, {"refund": refund, "describe": describe}, Audience.ADMIN),)
