"""Signing in with an emailed code, and the account's browser sessions: list them, end one."""

from functools import partial

from actors.clock import DAY_MS, SECOND_MS
from actors.values import Code, Refused
from service.api.context import Services
from service.api.cookies import drop_cookie, keep_cookie
from service.api.errors import too_fast
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation
from service.api.policy import Access, Budget
from service.schemas.fields import may_exist
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
    refused = too_fast(services.budgets.email(Budget.SIGN_IN_START, body.email))
    if refused is not None:
        return refused
    outcome = await services.sessions.start_sign_in(body.email)
    if isinstance(outcome, Refused):
        return outcome
    services.mail.wake()
    return Answer.of(SignInSent(sent=True), [*NO_STORE])


async def complete_sign_in(services: Services, call: Call) -> Answer | Refused:
    body: SignInComplete = call.body
    refused = too_fast(services.budgets.email(Budget.SIGN_IN_COMPLETE, body.email))
    if refused is not None:
        return refused
    agent_words = call.request.headers.get("user-agent", "")
    begun = await services.sessions.complete_sign_in(body.email, body.code.strip(), agent_words)
    if isinstance(begun, Refused):
        return begun
    session = begun.session
    shown = SessionBegun(id=session.id, email=session.email, expiresAt=session.expires_ms)
    seconds = services.config.sessions.days * DAY_MS // SECOND_MS
    return Answer.of(shown, [*NO_STORE, keep_cookie(begun.token, services.base_url, seconds)])


async def list_sessions(services: Services, call: Call) -> Answer | Refused:
    sessions = await services.sessions.sessions_of(call.caller.email)
    items = [
        SessionShown(
            id=session.id,
            agent=session.agent,
            createdAt=session.created_ms,
            seenAt=session.seen_ms,
            expiresAt=session.expires_ms,
            current=session.id == call.caller.agent.id,
        )
        for session in sessions
    ]
    return Answer.of(SessionList(items=items), [*NO_STORE])


async def end_session(services: Services, call: Call) -> Answer | Refused:
    session_id, caller = call.path_values["id"], call.caller
    if not may_exist(session_id):
        return Refused(Code.NOT_FOUND, "There is no such session.")
    outcome = await services.sessions.end_session(session_id, caller.email, caller.agent)
    if isinstance(outcome, Refused):
        return outcome
    dropped = [drop_cookie(services.base_url)] if session_id == caller.agent.id else []
    return Answer.of(SessionEnded(ended=True), [*NO_STORE, *dropped])


_signing_in = partial(Operation, tag="Sign-in", method="POST", access=Access.PUBLIC)
_signed_in = partial(Operation, tag="Sign-in", access=Access.SESSION)

ROWS = (
    _signing_in(
        name="startSignIn",
        path="/api/v1/auth/session",
        summary="Ask for a sign-in code",
        description="Sends a 6-digit code to the email. The answer tells nothing about whether the email has an account. "
        "A new code ends the one before it.",
        handler=start_sign_in,
        result=SignInSent,
        body=SignInStart,
        example={"email": "agent-owner@example.com"},
        budget=Budget.SIGN_IN_START,
    ),
    _signing_in(
        name="completeSignIn",
        path="/api/v1/auth/session/complete",
        summary="Sign in with an emailed code",
        description="Begins a browser session, which the answer gives to the browser as a cookie; an account is made where "
        "the email has none. Has to come from a page of this service, so that no other site can sign a browser in. A code "
        "opens one session.",
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
        method="GET",
        path="/api/v1/auth/sessions",
        summary="List browser sessions",
        description="The live sessions of the account, the last used first; all of them, without a cursor.",
        handler=list_sessions,
        result=SessionList,
    ),
    _signed_in(
        name="endSession",
        method="DELETE",
        path="/api/v1/auth/sessions/{id}",
        summary="End a browser session",
        description="Ends a session of the account for good, on every node from the next request on. Repeating it changes "
        "nothing. Ending the one that asks is signing out.",
        handler=end_session,
        result=SessionEnded,
        headers=("Set-Cookie",),
        codes=(Code.NOT_FOUND,),
    ),
)
