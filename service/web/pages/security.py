"""The page about who can get into an account: the browsers that are signed in, and the passkeys."""

from service.web.pages import passkeys
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template

PATH = "/dashboard/security"


async def security(request: PageRequest) -> Template:
    sessions = (await request.ask("listSessions")).or_refused()["items"]
    values = {
        "sessions": sorted(sessions, key=lambda session: not session["current"]),
        "session_days": request.config.sessions.days,
        **await passkeys.shown(request),
    }
    return Template("security.html", values)


async def end_session(request: PageRequest) -> SeeOther | FormError:
    """End a session. The operation drops the cookie if it was the session of this browser, which is then signed out."""
    result = await request.ask("endSession", path={"id": request.form.get("id", "")})
    return result.see_other("/", "signed_out") if result.cookies else result.see_other(PATH, "session_ended")


async def end_all(request: PageRequest) -> SeeOther | FormError:
    """End every session but this one, and every key."""
    result = await request.ask("endAll", body={"keepCurrent": True})
    return result.see_other(PATH, "all_ended")


SESSIONS = {"end-session": end_session, "end-all": end_all}
PAGES = (Page(PATH, security, SESSIONS | passkeys.ACTIONS, who=Audience.ACCOUNT, forms=passkeys.FORMS),)
