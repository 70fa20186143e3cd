"""Operations of device login (RFC 8628; specification, 4): a device starts and polls, a person approves or denies."""

from collections.abc import Mapping
from urllib.parse import urlencode

from actors.clock import SECOND_MS
from actors.devices.actor import RedeemedKey
from actors.devices.codes import format_code
from actors.devices.messages import DeviceView
from actors.values import Code, Refused
from service.api.authentication import no_passkey
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer, respond
from service.api.operation import Call, Operation
from service.api.policy import Access, Budget
from service.schemas.devices import (
    GRANT,
    ApprovalDecision,
    ApprovalQuery,
    DeviceApproval,
    DeviceStarted,
    DeviceToken,
    DeviceTokenRequest,
)
from service.schemas.rows import filled

NO_CACHE = ("pragma", "no-cache")
"""Besides `no-store`. Both are required for responses with a token (RFC 6749, 5.1)."""

AGENT_LENGTH = 200


async def start(services: Services, call: Call) -> Answer | Refused:
    started = await services.devices.start(program_of(call.request.headers), call.request.client)
    if isinstance(started, Refused):
        return started
    device, page = started.device, f"{services.base_url}/device"
    user_code = format_code(device.user_code)
    return Answer.of(
        DeviceStarted(
            device_code=started.device_code,
            user_code=user_code,
            verification_uri=page,
            verification_uri_complete=f"{page}?{urlencode({'user_code': user_code})}",
            expires_in=(device.expires_ms - device.created_ms) // SECOND_MS,
            interval=device.interval_seconds,
        )
    )


async def poll(services: Services, call: Call) -> Answer | Refused:
    body: DeviceTokenRequest = call.body
    redeemed = await services.devices.poll(body.device_code)
    if isinstance(redeemed, RedeemedKey):
        services.mail.wake()
    return respond(redeemed, _token, NO_CACHE)


def _token(issued: RedeemedKey) -> DeviceToken:
    return DeviceToken(
        apiKey=issued.api_key,
        tenantId=issued.key.tenant_id,
        keyPrefix=issued.key.prefix,
        access_token=issued.api_key,
        token_type="Bearer",
    )


async def view_approval(services: Services, call: Call) -> Answer | Refused:
    query: ApprovalQuery = call.query
    return respond(await services.devices.view_login(query.userCode, call.caller.agent), _approval)


async def decide(services: Services, call: Call) -> Answer | Refused:
    body: ApprovalDecision = call.body
    caller, approve = call.caller, body.decision == "approve"
    if body.admin and caller.needs_passkey:
        return no_passkey()
    if body.admin and not caller.admin:
        return Refused(Code.FORBIDDEN, "Only an administrator's key can carry administration.")
    decided = await services.devices.decide(body.userCode, caller.agent, approve=approve, admin=bool(body.admin))
    return respond(decided, _approval)


def _approval(view: DeviceView) -> DeviceApproval:
    return filled(DeviceApproval, view.device, userCode=format_code(view.device.user_code))


def program_of(headers: Mapping[str, str]) -> str:
    """The program's `User-Agent`, shortened to one printable line."""
    name = "".join(character for character in headers.get("user-agent", "") if character.isprintable())
    return " ".join(name[:AGENT_LENGTH].split())


POLL_CODES = (Code.AUTHORIZATION_PENDING, Code.SLOW_DOWN, Code.EXPIRED_TOKEN, Code.ACCESS_DENIED, Code.INVALID_CODE)
DEVICE_CODE = "dvc_3hG9kQ2vX7pLmN4rT8wYzB5cD6fJ1sAe3hG9kQ2vX7p"

ROWS = (
    Operation(
        name="startDevice",
        method="POST",
        path="/api/v1/auth/device",
        summary="Start a device login",
        description="Starts a login (RFC 8628). Show `user_code` and `verification_uri` to a person with an account, "
        "and poll `POST /api/v1/auth/device/token`. No credentials are needed, and the body is ignored.",
        tag="Device login",
        handler=start,
        result=DeviceStarted,
        access=Access.PUBLIC,
        budget=Budget.DEVICE_START,
    ),
    Operation(
        name="pollDevice",
        method="POST",
        path="/api/v1/auth/device/token",
        summary="Poll a device login",
        description="Takes JSON, or a form with the same fields. Wait `interval` seconds between polls, or longer if "
        "`slow_down` says so. After approval, the next poll returns a full key of the person's account, once.",
        tag="Device login",
        handler=poll,
        result=DeviceToken,
        access=Access.PUBLIC,
        body=DeviceTokenRequest,
        form=True,
        example={"device_code": DEVICE_CODE, "grant_type": GRANT},
        codes=POLL_CODES,
        family=Family.DEVICE,
        budget=Budget.DEVICE_POLL,
    ),
    Operation(
        name="getDeviceApproval",
        method="GET",
        path="/api/v1/auth/device/approval",
        summary="Get a device login for approval",
        description="Returns the login request with this user code. Too many wrong codes block this for the session.",
        tag="Device approval",
        handler=view_approval,
        result=DeviceApproval,
        access=Access.SESSION,
        query=ApprovalQuery,
        # Wrong codes count, so other sites must not be able to send them.
        same_origin=True,
        codes=(Code.INVALID_CODE,),
    ),
    Operation(
        name="decideDevice",
        method="POST",
        path="/api/v1/auth/device/approval",
        summary="Decide on a device login",
        description="Approving gives the device a full key of the signed-in person's account, without administration "
        "unless `admin` asks for it. Repeating the same decision has no effect.",
        tag="Device approval",
        handler=decide,
        result=DeviceApproval,
        access=Access.SESSION,
        body=ApprovalDecision,
        example={"userCode": "WDJB-MJHT", "decision": "approve"},
        codes=(Code.INVALID_CODE, Code.EXPIRED_TOKEN, Code.INVALID_STATE, Code.KEY_LIMIT),
    ),
)
