"""The steps around every page: identify the visitor, check permission and the form's origin, then show or act.

The outcome is a template with its values, or an address to go on to. Imports no framework.
"""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import urlencode

from actors.clock import DAY_MS, SECOND_MS
from actors.values import Code, Overloaded, Refused, StorageUnavailable
from service.api.authentication import Caller, signed_in
from service.api.context import Services
from service.api.cookies import SAFE, SESSION, from_our_page
from service.api.deadlines import PAGE_SECONDS, start_deadline, within_deadline
from service.api.errors import headers_of, not_valid, status_of, too_fast
from service.api.messages import NO_STORE, Headers, Request, note, trace
from service.api.refusals import failure
from service.api.validation import read_form, undecodable
from service.web.pages.parts.error_page import Asked, specific_message, values_of
from service.web.pages.parts.forms import errors_of, plain_message
from service.web.pages.parts.messages import on_a_page
from service.web.pages.parts.notices import NOTICES
from service.web.pages.parts.page import (
    Audience,
    FormError,
    Page,
    PageRefused,
    PageRequest,
    SeeOther,
    Template,
    with_next,
)

FORM_ID_BYTES = 16
FORMS = "form-action 'self'"
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    f"{FORMS}; base-uri 'none'; frame-ancestors 'none'"
)
API_LINKS = (
    '</openapi.json>; rel="service-desc"; type="application/json", </docs>; rel="service-doc"; type="text/html", '
    '</.well-known/api-catalog>; rel="api-catalog"'
)
# With no-referrer, browsers would send no origin with our own forms either.
PAGE_HEADERS = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache", "referrer-policy": "same-origin"}


async def handle_page(services: Services, page: Page, request: Request) -> Template | SeeOther | Refused:
    """The outcome of a page request, within `http.answer_seconds` and what an operation adds. Raises nothing but
    cancellation."""
    note("operation", "page")
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
        note("caller", person.signed_in.session.id)
        used = services.sessions.touch(person.signed_in.session)
    visit = PageRequest(services, request, caller, read_form(request.query.encode("utf-8", "surrogateescape")))
    return _with_cookie(visit, await _let_in(page, visit), used=used)


async def _person(services: Services, page: Page, request: Request) -> Caller | None:
    """The signed-in person. If the lookup fails or is refused, public pages are shown as to a visitor."""
    public = page.who is Audience.ANYBODY and request.method in SAFE
    try:
        person = await signed_in(
            request,
            services.base_url,
            services.session_reader,
            services.budgets,
            services.clock,
            require_passkey=services.config.admin.require_passkey,
        )
    except (StorageUnavailable, Overloaded):
        if not public:
            raise
        return None
    if isinstance(person, Refused):
        if not public:
            raise PageRefused(person)
        return None
    return person


async def _let_in(page: Page, visit: PageRequest) -> Template | SeeOther:
    posted = visit.request.method not in SAFE
    if posted and not page.capability and not from_our_page(visit.request, visit.base_url):
        words = "This form must be sent from a page of this service. Reload that page and send the form again."
        raise PageRefused(Refused(Code.FORBIDDEN, words))
    if page.who is not Audience.ANYBODY and visit.caller.signed_in is None:
        here = visit.request.path if posted else _with_query(visit.request)
        address = with_next("/sign-in", here)
        lost = "" if "?" in address else "address_too_long"
        asked = SeeOther(address, "sign_in_again" if posted else lost)
        return _dressed(page, visit, asked)
    if page.who is not Audience.ANYBODY and visit.caller.suspended and not page.while_suspended:
        return _dressed(page, visit, SeeOther("/account/suspended"))
    if page.who is Audience.ADMIN and visit.caller.needs_passkey:
        return _dressed(page, visit, SeeOther("/dashboard/security#passkeys", "passkey_needed"))
    if page.who is Audience.ADMIN and not visit.caller.admin:
        raise PageRefused(Refused(Code.FORBIDDEN, "Only administrators may see this page."))
    return await _act(page, visit) if posted else _dressed(page, visit, await _render_content(page, visit))


async def _act(page: Page, visit: PageRequest) -> Template | SeeOther:
    coded = undecodable(visit.request)
    if coded is not None:
        raise PageRefused(coded)
    visit = replace(visit, form=read_form(visit.request.body))
    act = page.actions.get(visit.form.get("do", ""))
    if act is None:
        raise PageRefused(not_valid())
    done = await act(visit)
    if not isinstance(done, FormError):
        return _dressed(page, visit, done)
    note("refusal", str(done.refused.code))
    visit = replace(visit, problem=on_a_page(done.refused))
    shown = _dressed(page, visit, await _render_content(page, visit))
    if isinstance(shown, SeeOther):
        return shown
    return replace(shown, status=status_of(done.refused), headers=[*shown.headers, *headers_of(done.refused)])


async def _render_content(page: Page, visit: PageRequest) -> Template | SeeOther:
    """The content of a page. Pages of administrators also say in their navigation how much work waits."""
    shown = await page.show(visit)
    if page.who is not Audience.ADMIN or isinstance(shown, SeeOther):
        return shown
    counts = await visit.ask("countLists")
    if counts.refused is not None:
        return shown
    asked = counts.json["refundRequests"]
    waiting = {
        "/admin": counts.json["campaigns"]["pending"] + asked,
        "/admin/submissions": counts.json["submissions"],
        "/admin/bookings": counts.json["bookingsInTrouble"] - asked,
    }
    return replace(shown, values={"counts": counts.json, "waiting": waiting} | dict(shown.values))


def _with_cookie(visit: PageRequest, ended: Template | SeeOther, *, used: bool) -> Template | SeeOther:
    """Renew the cookie of a session that was extended. A response with a cookie is not cached."""
    headers = list(ended.headers)
    if not any(name == "set-cookie" for name, _ in headers):
        token = SESSION.value(visit.request.headers, visit.base_url)
        if not used or token is None:
            return ended
        seconds = visit.config.sessions.days * DAY_MS // SECOND_MS
        headers.append(SESSION.set(token, visit.base_url, seconds))
    return replace(ended, headers=[*headers, *NO_STORE])


def _with_query(request: Request) -> str:
    return f"{request.path}?{request.query}" if request.query else request.path


def _dressed(page: Page, visit: PageRequest, ended: Template | SeeOther) -> Template | SeeOther:
    """Add the values common to all pages: the visitor, the notice, what was typed, the id of its forms, and whether search
    engines may list it."""
    person = visit.caller.signed_in
    headers = list(ended.headers)
    if person is not None or visit.form:
        # Personal pages are not cached, so that the back button does not show them after signing out.
        headers += NO_STORE
    if isinstance(ended, SeeOther):
        ended = replace(ended, headers=headers)
        if not ended.notice:
            return ended
        assert ended.notice in NOTICES, f"no notice is called {ended.notice}"
        mark = "&" if "?" in ended.path else "?"
        path, hash_mark, place = ended.path.partition("#")
        return replace(ended, path=f"{path}{mark}{urlencode({'notice': ended.notice})}{hash_mark}{place}")
    common = _common(visit._services) | {
        "here": visit.request.path,
        "visitor": None if person is None else {"email": person.session.email, "admin": person.admin},
        "notice": NOTICES.get(visit.query.get("notice", "")),
        **_errors(page, visit),
        "form": visit.form,
        "form_id": _form_id(visit),
        "indexed": page.indexed and visit.problem is None,
    }
    values = common | dict(ended.values)
    if values["indexed"]:
        headers.append(("link", _links(values)))
    return replace(ended, values=values, headers=headers)


def _links(values: Mapping[str, object]) -> str:
    """The `Link` header of a public page (RFC 8288): the API's description, and the same content as JSON if there is any."""
    alternate = values.get("alternate")
    return API_LINKS if alternate is None else f'<{alternate}>; rel="alternate"; type="application/json", {API_LINKS}'


def _form_id(visit: PageRequest) -> str:
    """The idempotency key of the page's forms. A form that failed keeps its own, because it may have taken effect."""
    failed = visit.problem is not None and status_of(visit.problem) >= HTTPStatus.INTERNAL_SERVER_ERROR
    return (visit.form.get("form_id") if failed else None) or visit.entropy.token(FORM_ID_BYTES).hex()


def _errors(page: Page, visit: PageRequest) -> Mapping[str, object]:
    """The errors of the form that was refused (`field_errors`)."""
    if visit.problem is None:
        return {}
    do = visit.form.get("do", "")
    return {"again": do, **errors_of(visit.problem, page.form_of(do), visit.form)}


def _common(services: Services) -> dict[str, object]:
    mover = services.clock_mover
    return {
        "now_ms": services.clock.now_ms(),
        "clock_ahead": None if mover is None else mover.clock.ahead_ms // SECOND_MS,
        "base_url": services.base_url,
        "billing_mode": services.config.billing.mode,
        "here": "",
        "visitor": None,
        "notice": None,
        "problem": None,
        "errors": {},
        "error_links": (),
        "filters_refused": False,
        "again": "",
        "form": {},
    }


def refused_page(services: Services, refused: Refused, asked: Asked) -> Template:
    """A refusal as a page of its own. It does not say who is signed in, because that lookup may be what failed."""
    note("refusal", str(refused.code))
    refused = on_a_page(refused)
    status = status_of(refused)
    notes = trace.get()
    values = {
        "message": specific_message(plain_message(refused)),
        "code": refused.code,
        "wait_seconds": refused.retry_after_seconds,
        "request_id": None if notes is None else notes.request_id,
    }
    common = _common(services)
    headers: Headers = [*headers_of(refused), ("cache-control", "no-store")]
    return Template("refused.html", {**common, **values, **values_of(status, asked)}, status, headers)
