"""Operation 4 and what follows from it: a device begins a login and polls, a person looks at it and decides."""

from collections.abc import Mapping
from urllib.parse import urlencode

from actors.clock import SECOND_MS
from actors.devices.codes import shown_code
from actors.devices.messages import Device
from actors.values import Code, Refused
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import NO_STORE, Answer
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

NO_CACHE = (*NO_STORE, ("pragma", "no-cache"))
"""RFC 6749 (5.1) wants both where there is a token."""

AGENT_LENGTH = 200


async def start(services: Services, call: Call) -> Answer | Refused:
    started = await services.devices.start(program_of(call.request.headers), call.request.client)
    if isinstance(started, Refused):
        return started
    device, page = started.device, f"{services.base_url}/device"
    user_code = shown_code(device.user_code)
    shown = DeviceStarted(
        device_code=started.device_code,
        user_code=user_code,
        verification_uri=page,
        verification_uri_complete=f"{page}?{urlencode({'user_code': user_code})}",
        expires_in=(device.expires_ms - device.created_ms) // SECOND_MS,
        interval=device.interval_seconds,
    )
    return Answer.of(shown, [*NO_STORE])


async def poll(services: Services, call: Call) -> Answer | Refused:
    body: DeviceTokenRequest = call.body
    outcome = await services.devices.poll(body.device_code)
    if isinstance(outcome, Refused):
        return outcome
    shown = DeviceToken(
        apiKey=outcome.api_key,
        tenantId=outcome.key.tenant_id,
        keyPrefix=outcome.key.prefix,
        access_token=outcome.api_key,
        token_type="Bearer",
    )
    return Answer.of(shown, [*NO_CACHE])


async def look(services: Services, call: Call) -> Answer | Refused:
    query: ApprovalQuery = call.query
    seen = await services.devices.look(query.userCode, call.caller.agent)
    return seen if isinstance(seen, Refused) else _shown(seen.device)


async def decide(services: Services, call: Call) -> Answer | Refused:
    body: ApprovalDecision = call.body
    seen = await services.devices.decide(body.userCode, call.caller.agent, approve=body.decision == "approve")
    return seen if isinstance(seen, Refused) else _shown(seen.device)


def _shown(device: Device) -> Answer:
    shown = DeviceApproval(
        userCode=shown_code(device.user_code),
        status=device.status.value,
        agent=device.agent,
        address=device.address,
        createdAt=device.created_ms,
        expiresAt=device.expires_ms,
    )
    return Answer.of(shown, [*NO_STORE])


def program_of(headers: Mapping[str, str]) -> str:
    """What the program calls itself, as far as it can be shown on one line."""
    name = "".join(sign for sign in headers.get("user-agent", "") if sign.isprintable())
    return " ".join(name[:AGENT_LENGTH].split())


DEVICE_CODE = "dvc_3hG9kQ2vX7pLmN4rT8wYzB5cD6fJ1sAe3hG9kQ2vX7p"

ROWS = (
    Operation(
        name="startDevice",
        method="POST",
        path="/api/v1/auth/device",
        summary="Start a device login",
        description="Needs nothing; a body is ignored. Show `user_code` and `verification_uri` to a person who has an "
        "account, and poll `POST /api/v1/auth/device/token` meanwhile (RFC 8628).",
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
        description="JSON or a form. Wait `interval` seconds between polls; after `slow_down` as many as it says. Once "
        "somebody has approved, the next poll gets a full key of his account, and no later one does.",
        tag="Device login",
        handler=poll,
        result=DeviceToken,
        access=Access.PUBLIC,
        body=DeviceTokenRequest,
        form=True,
        example={"device_code": DEVICE_CODE, "grant_type": GRANT},
        codes=(
            Code.AUTHORIZATION_PENDING,
            Code.SLOW_DOWN,
            Code.EXPIRED_TOKEN,
            Code.ACCESS_DENIED,
            Code.INVALID_CODE,
        ),
        family=Family.DEVICE,
        budget=Budget.DEVICE_POLL,
    ),
    Operation(
        name="getDeviceApproval",
        method="GET",
        path="/api/v1/auth/device/approval",
        summary="Look at a device login",
        description="What is asked with a user code, for the person who decides. Wrong codes lock this for the session.",
        tag="Device approval",
        handler=look,
        result=DeviceApproval,
        access=Access.SESSION,
        query=ApprovalQuery,
        # A wrong code is charged: a page elsewhere must not be able to lock somebody's form.
        same_origin=True,
        codes=(Code.INVALID_CODE,),
    ),
    Operation(
        name="decideDevice",
        method="POST",
        path="/api/v1/auth/device/approval",
        summary="Approve or deny a device login",
        description="The person who is signed in gives the device a key of his account, or refuses. The same decision "
        "once more changes nothing.",
        tag="Device approval",
        handler=decide,
        result=DeviceApproval,
        access=Access.SESSION,
        body=ApprovalDecision,
        example={"userCode": "WDJB-MJHT", "decision": "approve"},
        codes=(Code.INVALID_CODE, Code.EXPIRED_TOKEN, Code.INVALID_STATE, Code.KEY_LIMIT),
    ),
)
