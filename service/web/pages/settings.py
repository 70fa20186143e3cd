"""The page of an account's settings: the mails that it gets, and its data."""

from collections.abc import Mapping

from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template

PATH = "/dashboard/settings"

TOPICS: Mapping[str, tuple[str, str]] = {
    "reviews": (
        "Reviews",
        "When an ad of yours was reviewed, and for administrators when ads wait for review.",
    ),
    "bookings": ("Bookings", "When a week is held for you, and when it begins."),
    "reports": ("Reports", "What your ad reached, when its weeks are over."),
}
"""The mails that can be turned off: their name, and when they come."""


async def settings(request: PageRequest) -> Template:
    mails = (await request.ask("getNotifications")).or_refused()
    deletion = (await request.ask("getAccountDeletion")).or_refused()
    values = {
        "topics": [(topic, *words, mails[topic]) for topic, words in TOPICS.items()],
        "deletes_at": deletion.get("deletesAt"),
        "days": request.config.account.undo_days,
    }
    return Template("settings.html", values)


async def choose_mails(request: PageRequest) -> SeeOther | FormError:
    """Turn mails on or off. A checkbox that is not set is not sent."""
    body = {topic: f"mails_{topic}" in request.form for topic in TOPICS}
    return (await request.ask("editNotifications", body=body)).see_other(PATH, "mails_chosen")


PAGES = (Page(PATH, settings, {"choose-mails": choose_mails}, who=Audience.ACCOUNT),)
