"""The status of the node that answers, for operators. The page works without the database, too."""

from service.terminal.durations import duration
from service.web.pages.page import Audience, Page, PageRequest, Template


async def ops(request: PageRequest) -> Template:
    status = (await request.ask("getOperationsStatus")).or_refused()
    return Template("ops.html", {"status": status, "uptime": duration(status["node"]["uptimeSeconds"])})


PAGES = (Page("/ops", ops, who=Audience.ADMIN),)
