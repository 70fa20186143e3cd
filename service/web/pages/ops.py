"""The status of the node that answers, for operators. The page works without the database, too."""

from service.web.pages.page import Audience, Page, PageRequest, Template


async def ops(request: PageRequest) -> Template:
    status = (await request.ask("getOperationsStatus")).or_refused()
    return Template("ops.html", {"status": status, "uptime": span(status["node"]["uptimeSeconds"])})


def span(seconds: int) -> str:
    """A duration in its two largest units: `3 d 4 h`."""
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, seconds = divmod(rest, 60)
    units = ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
    first = next((place for place, (count, _) in enumerate(units) if count), len(units) - 1)
    return " ".join(f"{count} {unit}" for count, unit in units[first : first + 2])


PAGES = (Page("/ops", ops, who=Audience.ADMIN),)
