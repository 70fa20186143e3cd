"""Operations on passkeys: finish a sign-in with one, and add, show, rename and remove those of the account."""

from functools import partial

from actors.sessions.messages import Session
from actors.sessions.passkey_actor import Ceremony as Started
from actors.sessions.passkeys import confirmed_until, may_add, sign_in_ended, unknown_passkey
from actors.sessions.second_factor import Passkey
from actors.values import Code, Refused
from service.api.authentication import Caller
from service.api.context import Services
from service.api.cookies import PENDING
from service.api.errors import Family, too_fast
from service.api.messages import Answer, respond
from service.api.operation import Call, Operation
from service.api.operations.responses import with_id
from service.api.operations.sessions import session_begun
from service.api.policy import Access, Budget
from service.schemas.passkeys import (
    Ceremony,
    PasskeyAddition,
    PasskeyConfirmed,
    PasskeyEdit,
    PasskeyList,
    PasskeyRemoved,
    PasskeyShown,
    PasskeyView,
)
from service.schemas.sessions import SessionBegun, SignInCancelled, SignInPending

# The second step of a sign-in.


async def get_pending(services: Services, call: Call) -> Answer | Refused:
    """Unknown tokens count like unknown keys and sessions of an address, before they are looked up."""
    token, address = _token(services, call), call.request.client
    if token is None:
        return sign_in_ended()
    if refused := too_fast(services.budgets.unknown(address)):
        return refused
    pending = await services.passkeys.pending(token)
    if pending is None:
        return sign_in_ended()
    services.budgets.known(address)
    return Answer.of(SignInPending(id=pending.id, email=pending.email, expiresAt=pending.expires_ms))


async def start_sign_in(services: Services, call: Call) -> Answer | Refused:
    return respond(await services.passkeys.start_sign_in(_token(services, call)), _ceremony)


async def finish_sign_in(services: Services, call: Call) -> Answer | Refused:
    body: PasskeyShown = call.body
    begun = await services.passkeys.finish_sign_in(_token(services, call), body.credential.model_dump())
    if isinstance(begun, Refused):
        return begun
    return session_begun(services, begun, PENDING.delete(services.base_url))


async def cancel_sign_in(services: Services, call: Call) -> Answer | Refused:
    await services.passkeys.cancel_sign_in(_token(services, call))
    return Answer.of(SignInCancelled(cancelled=True), PENDING.delete(services.base_url))


def _token(services: Services, call: Call) -> str | None:
    return PENDING.value(call.request.headers, services.base_url)


def _ceremony(started: Started) -> Ceremony:
    return Ceremony(publicKey=dict(started.options))


# The passkeys of the account.


async def list_passkeys(services: Services, call: Call) -> Answer | Refused:
    own = await services.passkeys.passkeys_of(call.caller.email)
    rules, now_ms = services.passkeys.rules.passkeys, services.clock.now_ms()
    session = _session(call.caller)
    until_ms = confirmed_until(session, rules)
    return Answer.of(
        PasskeyList(
            items=[_view(each) for each in own],
            mayAdd=may_add(session, now_ms, rules, first=not own),
            confirmedUntil=until_ms if until_ms > now_ms else None,
        )
    )


def _session(caller: Caller) -> Session:
    assert caller.signed_in is not None, "these operations need a session"
    return caller.signed_in.session


def _view(passkey: Passkey) -> PasskeyView:
    return PasskeyView(id=passkey.id, name=passkey.name, createdAt=passkey.created_ms, lastUsedAt=passkey.used_ms)


async def start_passkey(services: Services, call: Call) -> Answer | Refused:
    return respond(await services.passkeys.start_registration(call.caller.agent), _ceremony)


async def add_passkey(services: Services, call: Call) -> Answer | Refused:
    body: PasskeyAddition = call.body
    added = await services.passkeys.register(call.caller.agent, body.name, body.credential.model_dump())
    services.mail.wake()
    return respond(added, lambda kept: _view(kept.passkey))


async def start_confirmation(services: Services, call: Call) -> Answer | Refused:
    return respond(await services.passkeys.start_confirmation(call.caller.agent), _ceremony)


async def confirm(services: Services, call: Call) -> Answer | Refused:
    body: PasskeyShown = call.body
    confirmed = await services.passkeys.confirm(call.caller.agent, body.credential.model_dump())
    rules = services.passkeys.rules.passkeys
    return respond(confirmed, lambda kept: PasskeyConfirmed(confirmedUntil=confirmed_until(kept.session, rules)))


@with_id(unknown_passkey)
async def edit_passkey(services: Services, call: Call, passkey_id: str) -> Answer | Refused:
    body: PasskeyEdit = call.body
    return respond(
        await services.passkeys.rename(call.caller.agent, passkey_id, body.name), lambda kept: _view(kept.passkey)
    )


@with_id(unknown_passkey)
async def remove_passkey(services: Services, call: Call, passkey_id: str) -> Answer | Refused:
    removed = await services.passkeys.remove(call.caller.agent, passkey_id)
    services.mail.wake()
    return respond(removed, lambda _: PasskeyRemoved(removed=True))


CREDENTIAL_ID = "q83vEjRWeJCrze8SNFZ4kA"
_SHOWN = {
    "credential": {
        "id": CREDENTIAL_ID,
        "rawId": CREDENTIAL_ID,
        "type": "public-key",
        "response": {"clientDataJSON": "eyJ0eXBlIjoi", "authenticatorData": "SZYN5YgOjGh0", "signature": "MEUCIQ"},
    }
}
_ADDED = {
    "name": "Laptop",
    "credential": {
        "id": CREDENTIAL_ID,
        "rawId": CREDENTIAL_ID,
        "type": "public-key",
        "response": {"clientDataJSON": "eyJ0eXBlIjoi", "attestationObject": "o2NmbXRkbm9uZQ"},
    },
}

_second_step = partial(Operation, tag="Sign-in", access=Access.PUBLIC, codes=(Code.UNAUTHORIZED,))
_changing_step = partial(_second_step, same_origin=True, budget=Budget.SIGN_IN_COMPLETE)
_passkeys = partial(Operation, tag="Passkeys", access=Access.SESSION, family=Family.SPONSORSHIP)

PATH = "/api/v1/account/passkeys"

ROWS = (
    _second_step(
        name="getPendingSignIn",
        method="GET",
        path="/api/v1/auth/passkey",
        summary="Get the pending sign-in",
        description="Returns the sign-in of this browser whose code was right and whose passkey is missing.",
        handler=get_pending,
        result=SignInPending,
        codes=(Code.UNAUTHORIZED, Code.RATE_LIMITED),
    ),
    _changing_step(
        name="startPasskeySignIn",
        method="POST",
        path="/api/v1/auth/passkey",
        summary="Start the passkey step of a sign-in",
        description="Returns the options for `navigator.credentials.get`. A new challenge replaces the previous one. It "
        "can be used once, within five minutes.",
        handler=start_sign_in,
        result=Ceremony,
        codes=(Code.UNAUTHORIZED, Code.INVALID_STATE),
    ),
    _changing_step(
        name="finishPasskeySignIn",
        method="POST",
        path="/api/v1/auth/passkey/complete",
        summary="Finish a sign-in with a passkey",
        description="Starts the browser session and sets its cookie.",
        handler=finish_sign_in,
        result=SessionBegun,
        body=PasskeyShown,
        example=_SHOWN,
        headers=("Set-Cookie",),
        codes=(Code.UNAUTHORIZED, Code.INVALID_PASSKEY),
    ),
    _changing_step(
        name="cancelPasskeySignIn",
        method="DELETE",
        path="/api/v1/auth/passkey",
        summary="Cancel the passkey step of a sign-in",
        description="Repeating the request has no effect.",
        handler=cancel_sign_in,
        result=SignInCancelled,
        headers=("Set-Cookie",),
        codes=(),
    ),
    _passkeys(
        name="listPasskeys",
        method="GET",
        path=PATH,
        summary="List passkeys",
        description="Returns the passkeys of the account, oldest first, and what this session may do with them. This list is "
        "not paginated.",
        handler=list_passkeys,
        result=PasskeyList,
    ),
    _passkeys(
        name="startPasskey",
        method="POST",
        path=f"{PATH}/challenge",
        summary="Start adding a passkey",
        description="Returns the options for `navigator.credentials.create`. The session must have shown a passkey, or have "
        "begun in the last ten minutes if the account has none.",
        handler=start_passkey,
        result=Ceremony,
        codes=(Code.PASSKEY_LIMIT, Code.INVALID_STATE),
    ),
    _passkeys(
        name="addPasskey",
        method="POST",
        path=PATH,
        summary="Add a passkey",
        description="Adds the credential that the browser has created. From then on, signing in takes a passkey after the "
        "emailed code. The owner is told by mail.",
        handler=add_passkey,
        result=PasskeyView,
        body=PasskeyAddition,
        example=_ADDED,
        leads_to={"editPasskey": "/id", "removePasskey": "/id"},
        codes=(Code.INVALID_PASSKEY, Code.PASSKEY_LIMIT, Code.INVALID_STATE),
    ),
    _passkeys(
        name="startPasskeyConfirmation",
        method="POST",
        path=f"{PATH}/confirmation",
        summary="Start a confirmation with a passkey",
        description="Returns the options for `navigator.credentials.get`.",
        handler=start_confirmation,
        result=Ceremony,
        codes=(Code.INVALID_STATE,),
    ),
    _passkeys(
        name="confirmWithPasskey",
        method="POST",
        path=f"{PATH}/confirmation/complete",
        summary="Confirm a session with a passkey",
        description="Notes that the session has shown a passkey. For ten minutes it may remove passkeys.",
        handler=confirm,
        result=PasskeyConfirmed,
        body=PasskeyShown,
        example=_SHOWN,
        codes=(Code.INVALID_PASSKEY,),
    ),
    _passkeys(
        name="editPasskey",
        repeatable=True,
        method="PATCH",
        path=f"{PATH}/{{id}}",
        summary="Edit the name of a passkey",
        description="Changes the name that the account sees.",
        handler=edit_passkey,
        result=PasskeyView,
        body=PasskeyEdit,
        example={"name": "Laptop"},
        codes=(Code.NOT_FOUND,),
    ),
    _passkeys(
        name="removePasskey",
        method="DELETE",
        path=f"{PATH}/{{id}}",
        summary="Remove a passkey",
        description="The session must have shown a passkey in the last ten minutes. Once no passkey is left, signing in "
        "takes the emailed code alone. The owner is told by mail.",
        handler=remove_passkey,
        result=PasskeyRemoved,
        codes=(Code.NOT_FOUND,),
    ),
)
