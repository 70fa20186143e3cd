"""Operations on browser sessions: sign in with an emailed code, list the sessions of the account, and end one."""

from functools import partial

from actors.clock import DAY_MS, MINUTE_MS, SECOND_MS
from actors.sessions.actor import AwaitedSession, StartedSession
from actors.shared.codes import emailed_code
from actors.values import Code, Refused
from service.api.context import Services
from service.api.cookies import BROWSER, PENDING, SESSION
from service.api.errors import too_fast
from service.api.messages import Answer, respond
from service.api.operation import Call, Operation
from service.api.operations.responses import with_id
from service.api.policy import Access, Budget
from service.api.rate_limits import origin_of
from service.schemas.rows import filled
from service.schemas.sessions import (
    SessionBegun,
    SessionEnded,
    SessionList,
    SessionShown,
    SignInComplete,
    SignInSent,
    SignInStart,
)


async def start_sign_in(services: Services, call: Call) -> Answer | Refused:
    body: SignInStart = call.body
    if refused := too_fast(services.budgets.mail(call.request.client)):
        return refused
    request, base_url = call.request, services.base_url
    browser = BROWSER.value(request.headers, base_url)
    outcome = await services.sessions.start_sign_in(body.email, browser, origin_of(request.client))
    if isinstance(outcome, Refused):
        services.budgets.not_mailed(call.request.client)
        return outcome
    services.mail.wake()
    seconds = services.config.claim.code_minutes * MINUTE_MS // SECOND_MS
    return Answer.of(SignInSent(sent=True), BROWSER.set(outcome.browser, base_url, seconds))


async def complete_sign_in(services: Services, call: Call) -> Answer | Refused:
    body: SignInComplete = call.body
    headers, origin = call.request.headers, origin_of(call.request.client)
    browser, code = BROWSER.value(headers, services.base_url), emailed_code(body.code)
    if isinstance(code, Refused):
        return code
    agent = headers.get("user-agent", "")
    begun = await services.sessions.complete_sign_in(body.email, code, browser, origin, agent)
    return begun if isinstance(begun, Refused) else session_begun(services, begun)


def session_begun(services: Services, begun: StartedSession | AwaitedSession, *headers: tuple[str, str]) -> Answer:
    """The answer that gives a browser its session, or the cookie that waits for a passkey."""
    if isinstance(begun, AwaitedSession):
        pending, seconds = begun.pending, services.config.passkeys.sign_in_seconds
        return Answer.of(
            SessionBegun(id=pending.id, email=pending.email, expiresAt=pending.expires_ms, passkeyRequired=True),
            PENDING.set(begun.token, services.base_url, seconds),
        )
    services.mail.wake()
    session = begun.session
    services.session_reader.expect(begun.token)
    seconds = services.config.sessions.days * DAY_MS // SECOND_MS
    return Answer.of(
        SessionBegun(id=session.id, email=session.email, expiresAt=session.expires_ms),
        SESSION.set(begun.token, services.base_url, seconds),
        *headers,
    )


async def list_sessions(services: Services, call: Call) -> Answer | Refused:
    sessions = await services.sessions.sessions_of(call.caller.email)
    items = [filled(SessionShown, session, current=session.id == call.caller.agent.id) for session in sessions]
    return Answer.of(SessionList(items=items))


@with_id(lambda: Refused(Code.NOT_FOUND, "There is no such session."))
async def end_session(services: Services, call: Call, session_id: str) -> Answer | Refused:
    caller = call.caller
    outcome = await services.sessions.end_session(session_id, caller.email, caller.agent)
    dropped = [SESSION.delete(services.base_url)] if session_id == caller.agent.id else []
    return respond(outcome, lambda _: SessionEnded(ended=True), *dropped)


_signing_in = partial(Operation, tag="Sign-in", method="POST", access=Access.PUBLIC)
_signed_in = partial(Operation, tag="Sign-in", access=Access.SESSION)

ROWS = (
    _signing_in(
        name="startSignIn",
        path="/api/v1/auth/session",
        summary="Start a sign-in by email",
        description="Sends a code to the email address: 6 digits, or 12 after many requests in a day. The response is the "
        "same whether or not it has an account. It sets a cookie, and only the browser that has it can use the code; a "
        "program has to keep it and send it back. A new code replaces the previous one of the same browser. The request "
        "must come from a page of this service, or carry its `Origin`.",
        handler=start_sign_in,
        result=SignInSent,
        body=SignInStart,
        example={"email": "agent-owner@example.com"},
        same_origin=True,
        headers=("Set-Cookie",),
        budget=Budget.SIGN_IN_START,
    ),
    _signing_in(
        name="completeSignIn",
        path="/api/v1/auth/session/complete",
        summary="Complete a sign-in with the emailed code",
        description="Starts a browser session and sets its cookie. Creates the account if the email address has none. "
        "The request must carry the cookie that `startSignIn` set; without it, or with that of another browser, the code "
        "is invalid and no attempt is counted. The request must come from a page of this service, so that other sites "
        "cannot sign a browser in. A code can be used once. If the account has a passkey, the response has "
        "`passkeyRequired` and a cookie of its own, and `POST /api/v1/auth/passkey` goes on.",
        handler=complete_sign_in,
        result=SessionBegun,
        body=SignInComplete,
        example={"email": "agent-owner@example.com", "code": "123456"},
        same_origin=True,
        headers=("Set-Cookie",),
        codes=(Code.INVALID_CODE,),
        budget=Budget.SIGN_IN_COMPLETE,
    ),
    _signed_in(
        name="listSessions",
        while_suspended=True,
        method="GET",
        path="/api/v1/auth/sessions",
        summary="List browser sessions",
        description="Returns every live session of the account, most recently used first. This list is not paginated.",
        handler=list_sessions,
        result=SessionList,
    ),
    _signed_in(
        name="endSession",
        while_suspended=True,
        method="DELETE",
        path="/api/v1/auth/sessions/{id}",
        summary="End a browser session",
        description="Permanently ends a session of the account, from the next request on every node. Repeating the "
        "request has no effect. To sign out, end the current session.",
        handler=end_session,
        result=SessionEnded,
        headers=("Set-Cookie",),
        codes=(Code.NOT_FOUND,),
    ),
)
