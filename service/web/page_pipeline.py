"""Around every page: who looks at it, may he, did the form come from here, and only once. Knows no framework.

What it ends in is a template with its values, or an address to go on to.
"""

from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote, urlencode

from actors.clock import DAY_MS, SECOND_MS
from actors.sessions.actor import SessionKeeper
from actors.values import Code, Overloaded, Refused, StorageUnavailable
from service.api.answers import failure
from service.api.authentication import Caller, signed_in
from service.api.context import Services
from service.api.cookies import SAFE, from_our_page, keep_cookie, session_token
from service.api.deadlines import PAGE_SECONDS, start_deadline, within_deadline
from service.api.errors import headers_of, message_of, not_valid, status_of, too_fast
from service.api.messages import NO_STORE, Headers, Request, note, trace
from service.api.validation import read_form
from service.config import Config
from service.schemas.problems import text_of
from service.web.form_tokens import FORM_BYTES, consume_form_token
from service.web.pages.notices import NOTICES
from service.web.pages.page import Audience, FormError, Page, PageRefused, PageRequest, SeeOther, Template

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# With no-referrer, browsers would say of our own forms, too, that they come from nowhere.
PAGE_HEADERS = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache", "referrer-policy": "same-origin"}


async def visited(services: Services, page: Page, request: Request) -> Template | SeeOther | Refused:
    """What a request of a page ends in, within `http.answer_seconds` and what an operation lengthens it by. Raises nothing
    but cancellation."""
    note(operation="page")
    start_deadline(services.config.http.answer_seconds)
    try:
        with within_deadline(PAGE_SECONDS):
            return await _visited(services, page, request)
    except PageRefused as error:
        return error.refused
    except Exception as error:
        return failure(f"the page {page.path}", error)


async def _visited(services: Services, page: Page, request: Request) -> Template | SeeOther | Refused:
    refused = too_fast(services.budgets.page(request.client))
    if refused is not None:
        return refused
    person = await _person(services, page, request)
    caller = person or Caller(request.client)
    used = False
    if person is not None and person.signed_in is not None:
        note(caller=person.signed_in.session.id)
        used = services.sessions.touch(person.signed_in.session)
    visit = PageRequest(services, request, caller, read_form(request.query.encode("utf-8", "surrogateescape")))
    return _with_cookie(visit, await _let_in(services.sessions, page, visit), used=used)


async def _person(services: Services, page: Page, request: Request) -> Caller | None:
    """Who is signed in. Where that cannot be found out, what anybody may read is shown as to anybody."""
    try:
        return await signed_in(request, services.base_url, services.session_reader, services.clock)
    except (StorageUnavailable, Overloaded):
        if page.who is not Audience.ANYBODY or request.method not in SAFE:
            raise
        return None


async def _let_in(sessions: SessionKeeper, page: Page, visit: PageRequest) -> Template | SeeOther:
    posted = visit.request.method not in SAFE
    if posted and not page.sealed and not from_our_page(visit.request, visit.base_url):
        words = "This form has to be sent from a page of this service. Load that page anew, and send it again."
        raise PageRefused(Refused(Code.FORBIDDEN, words))
    if page.who is not Audience.ANYBODY and visit.caller.signed_in is None:
        here = visit.request.path if posted else _with_query(visit.request)
        asked = SeeOther(f"/sign-in?next={quote(here, safe='')}", "sign_in_again" if posted else "")
        return _dressed(visit, asked)
    if page.who is Audience.ADMIN and not visit.caller.admin:
        raise PageRefused(Refused(Code.FORBIDDEN, "Only administrators may see this page."))
    return await _act(sessions, page, visit) if posted else _dressed(visit, await page.show(visit))


async def _act(sessions: SessionKeeper, page: Page, visit: PageRequest) -> Template | SeeOther:
    visit = replace(visit, form=read_form(visit.request.body))
    act = page.acts.get(visit.form.get("do", ""))
    if act is None:
        raise PageRefused(not_valid())
    done = await consume_form_token(sessions, visit, act)
    if not isinstance(done, FormError):
        return _dressed(visit, done)
    note(refusal=str(done.refused.code))
    visit = replace(visit, problem=done.refused)
    shown = _dressed(visit, await page.show(visit))
    if isinstance(shown, SeeOther):
        return shown
    return replace(shown, status=status_of(done.refused), headers=[*shown.headers, *headers_of(done.refused)])


def _with_cookie(visit: PageRequest, ended: Template | SeeOther, *, used: bool) -> Template | SeeOther:
    """A session that lives on from now does so in the browser, too. An answer with a cookie is kept by nobody."""
    headers = list(ended.headers)
    if not any(name == "set-cookie" for name, _ in headers):
        token = session_token(visit.request.headers, visit.base_url)
        if not used or token is None:
            return ended
        seconds = visit.config.sessions.days * DAY_MS // SECOND_MS
        headers.append(keep_cookie(token, visit.base_url, seconds))
    return replace(ended, headers=[*headers, *NO_STORE])


def _with_query(request: Request) -> str:
    return f"{request.path}?{request.query}" if request.query else request.path


def _dressed(visit: PageRequest, ended: Template | SeeOther) -> Template | SeeOther:
    """With what every page says: who is signed in, the notice, what was typed, and a fresh name for its forms."""
    person = visit.caller.signed_in
    headers = list(ended.headers)
    if person is not None or visit.form:
        # What one person sees is kept by nobody, and not shown by the back button after he has signed out.
        headers += NO_STORE
    if isinstance(ended, SeeOther):
        ended = replace(ended, headers=headers)
        if not ended.notice:
            return ended
        assert ended.notice in NOTICES, f"no notice is called {ended.notice}"
        mark = "&" if "?" in ended.path else "?"
        path, hash_mark, place = ended.path.partition("#")
        return replace(ended, path=f"{path}{mark}{urlencode({'notice': ended.notice})}{hash_mark}{place}")
    common = _common(visit.base_url, visit.config) | {
        "here": visit.request.path,
        "visitor": None if person is None else {"email": person.session.email, "admin": person.admin},
        "notice": NOTICES.get(visit.query.get("notice", "")),
        "problem": None if visit.problem is None else _explained(visit.problem),
        "form": visit.form,
        "form_id": visit.entropy.token(FORM_BYTES).hex(),
    }
    return replace(ended, values=common | dict(ended.values), headers=headers)


def _explained(refused: Refused) -> str:
    """Why a form was refused. Each problem is named after its field."""
    return f"Please correct this: {text_of(refused.problems)}" if refused.problems else refused.message


def _common(base_url: str, config: Config) -> dict[str, object]:
    return {
        "base_url": base_url,
        "billing_mode": config.billing.mode,
        "here": "",
        "visitor": None,
        "notice": None,
        "problem": None,
        "form": {},
    }


def refused_page(services: Services, refused: Refused) -> Template:
    """A refusal as a page of its own, for who is not known: whether he is signed in may be what could not be found out."""
    note(refusal=str(refused.code))
    status = status_of(refused)
    notes = trace.get()
    values = {
        "unknown": True,
        "status": status,
        "phrase": HTTPStatus(status).phrase,
        "message": message_of(refused),
        "code": refused.code,
        "wait_seconds": refused.retry_after_seconds,
        "request_id": None if notes is None else notes.request_id,
    }
    headers: Headers = [*headers_of(refused), ("cache-control", "no-store")]
    return Template("refused.html", _common(services.base_url, services.config) | values, status, headers)
