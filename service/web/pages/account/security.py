"""The page about who can get into an account: its browsers and passkeys, and the passkey step of a sign-in.

A script asks the browser for the passkey and sends its answer as a field of the form. Everything else works without it.
"""

import json
from typing import Any

from actors.values import Code, Refused
from service.api.messages import NO_STORE
from service.web.pages.account.sign_in import local_path
from service.web.pages.parts.forms import Field, Form
from service.web.pages.parts.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template, calling

PATH = "/dashboard/security"

PLACE = "/dashboard/security#passkeys"


async def security(request: PageRequest) -> Template:
    sessions = (await request.ask("listSessions")).or_raise()["items"]
    values = {
        "sessions": sorted(sessions, key=lambda session: not session["current"]),
        "session_days": request.config.sessions.days,
        **await passkey_section(request),
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


def _credential(request: PageRequest) -> Any:
    """Return the value that the script of the page has filled in; None without a script."""
    try:
        return json.loads(request.form.get("credential", ""))
    except (ValueError, RecursionError):
        return None


def _needs_script() -> FormError:
    words = "Only a script can ask your browser for a passkey. Turn on JavaScript for this site, and try again."
    return FormError(Refused(Code.INVALID_REQUEST, words))


# The second step of a sign-in.


async def second_step(request: PageRequest) -> Template | SeeOther:
    onward = local_path(request.form.get("next") or request.query.get("next", ""))
    if request.caller.signed_in is not None:
        return SeeOther(onward)
    pending = await request.ask("getPendingSignIn")
    if pending.refused is not None and pending.refused.code is Code.UNAUTHORIZED:
        return SeeOther("/sign-in", "sign_in_ended")
    values = {"next": onward, "pending": pending.or_raise()}
    return Template("sign_in_passkey.html", values, headers=[*NO_STORE])


async def finish(request: PageRequest) -> SeeOther | FormError:
    credential = _credential(request)
    if credential is None:
        return _needs_script()
    result = await request.ask("finishPasskeySignIn", body={"credential": credential})
    return result.see_other(local_path(request.form.get("next", "")), "signed_in")


# The section of the page on security.


async def passkey_section(request: PageRequest) -> dict[str, object]:
    """The values of the section."""
    return {"passkeys": (await request.ask("listPasskeys")).or_raise(), "passkeys_offered": request.passkeys_offered}


async def add(request: PageRequest) -> SeeOther | FormError:
    credential = _credential(request)
    if credential is None:
        return _needs_script()
    body = {"name": request.form.get("passkey_name", "").strip(), "credential": credential}
    return (await request.ask("addPasskey", body=body)).see_other(PLACE, "passkey_added")


async def confirm(request: PageRequest) -> SeeOther | FormError:
    refused = await _confirmed(request)
    return SeeOther(PLACE, "passkey_confirmed") if refused is None else refused


async def _confirmed(request: PageRequest) -> FormError | None:
    credential = _credential(request)
    if credential is None:
        return _needs_script()
    result = await request.ask("confirmWithPasskey", body={"credential": credential})
    return None if result.refused is None else FormError(result.refused)


async def rename(request: PageRequest) -> SeeOther | FormError:
    body = {"name": request.form.get("new_name", "").strip()}
    result = await request.ask("editPasskey", path={"id": request.form.get("id", "")}, body=body)
    return result.see_other(PLACE, "passkey_renamed")


async def remove(request: PageRequest) -> SeeOther | FormError:
    """Remove a passkey. The form of a session that has to confirm first carries its answer."""
    refused = await _confirmed(request) if "credential" in request.form else None
    if refused is not None:
        return refused
    result = await request.ask("removePasskey", path={"id": request.form.get("id", "")})
    return result.see_other(PLACE, "passkey_removed")


ACTIONS: dict[str, Act] = {
    "add-passkey": add,
    "confirm-passkey": confirm,
    "rename-passkey": rename,
    "remove-passkey": remove,
}

PASSKEY_NAME = "Write a name for the passkey."
FORMS = {
    "add-passkey": Form({"passkey_name": Field("Name of the passkey", PASSKEY_NAME, of="name")}),
    "rename-passkey": Form({"new_name": Field("New name", PASSKEY_NAME, of="name", id="name-{id}")}),
}

CANCEL = calling("cancelPasskeySignIn", "sign_in_cancelled", "/sign-in")

PAGES = (
    Page(PATH, security, SESSIONS | ACTIONS, who=Audience.ACCOUNT, forms=FORMS),
    Page("/sign-in/passkey", second_step, {"finish": finish, "cancel": CANCEL}),
)
