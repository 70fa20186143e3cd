"""Operations without credentials: mint a key, claim it with an emailed code (specification, 1 to 3), report exposed keys."""

from actors.keys.messages import Claimed
from actors.shared.codes import emailed_code
from actors.shared.credentials import CLAIM_TOKEN, digest
from actors.values import Agent, Code, Done, Refused
from service.api.context import Services
from service.api.errors import too_fast, unavailable
from service.api.messages import Answer, Request
from service.api.operation import Call, Operation
from service.api.operations.account import usage_of
from service.api.policy import Access, Budget
from service.api.rate_limits import origin_of
from service.schemas.keys import (
    Anything,
    ClaimComplete,
    ClaimSent,
    ClaimStart,
    ExposedKeys,
    ExposedResult,
    ExposedResults,
    MintedKey,
    Usage,
)
from service.tokens.scanners import is_signed


async def mint(services: Services, call: Call) -> Answer | Refused:
    minted = await services.keys.mint()
    assert minted.key.expires_ms is not None
    services.key_cache.expect(minted.api_key)
    return Answer.of(
        MintedKey(
            apiKey=minted.api_key,
            tenantId=minted.key.tenant_id,
            claimToken=minted.claim_token,
            claimUrl=f"{services.base_url}/claim#{minted.claim_token}",
            expiresAt=minted.key.expires_ms,
        )
    )


async def start_claim(services: Services, call: Call) -> Answer | Refused:
    body: ClaimStart = call.body
    if not CLAIM_TOKEN.matches(body.claimToken):
        return _unknown_token()
    if refused := too_fast(services.budgets.mail(call.request.client)):
        return refused
    outcome = await services.keys.start_claim(body.claimToken, body.email, origin_of(call.request.client))
    if isinstance(outcome, Refused):
        services.budgets.not_mailed(call.request.client)
        return outcome
    assert isinstance(outcome, Done)
    services.mail.wake()
    return Answer.of(ClaimSent(sent=True))


async def complete_claim(services: Services, call: Call) -> Answer | Refused:
    body: ClaimComplete = call.body
    if not CLAIM_TOKEN.matches(body.claimToken):
        return _unknown_token()
    code = emailed_code(body.code)
    if isinstance(code, Refused):
        return code
    outcome = await services.keys.complete_claim(body.claimToken, body.email, code, origin_of(call.request.client))
    if isinstance(outcome, Refused):
        return outcome
    assert isinstance(outcome, Claimed)
    services.key_cache.forget([outcome.key.hash], [outcome.tenant.id])
    services.mail.wake()
    tenant = await services.quota.read(outcome.tenant.id)
    if tenant is None:
        return unavailable()
    return Answer.of(usage_of(tenant, outcome.key.prefix, outcome.email, services.quota.caps))


async def report_exposed(services: Services, call: Call) -> Answer | Refused:
    scanner = _scanner(services, call.request)
    if isinstance(scanner, Refused):
        return scanner
    if scanner is None and (refused := too_fast(services.budgets.spend(Budget.EXPOSED, call.request.client))):
        return refused
    body: ExposedKeys = call.body
    # A text that was found several times is known by the first place that has an address.
    found: dict[str, str] = {}
    for each in body.root:
        found[each.token] = found.get(each.token) or each.url
    agent = Agent("system", scanner or "report")
    exposed = await services.keys.end_exposed(found, agent, mail_places=scanner is not None)
    services.key_cache.forget(exposed.changed)
    services.mail.wake()
    results = [
        ExposedResult(
            token_hash=digest(each.token).hex(),
            token_type=each.type,
            label="true_positive" if digest(each.token) in exposed.known else "false_positive",
        )
        for each in body.root
    ]
    return Answer.of(ExposedResults(results))


def _scanner(services: Services, request: Request) -> str | Refused | None:
    """The id of the configured key that signed a report; None if none of them claims to have."""
    key_id, signature = request.headers.get(KEY_IDENTIFIER), request.headers.get(KEY_SIGNATURE, "")
    known = next((each for each in services.config.keys.scanner_keys if each.id == key_id), None)
    if known is None:
        return None
    if is_signed(request.body, signature, known.pem):
        return known.id
    return Refused(Code.INVALID_REQUEST, f"The {KEY_SIGNATURE.title()} header is missing or does not match the body.")


def _unknown_token() -> Refused:
    return Refused(Code.INVALID_CLAIM, "The claim token is not valid. Use the one that came with the key.")


KEY_IDENTIFIER, KEY_SIGNATURE = "github-public-key-identifier", "github-public-key-signature"
"""The headers of a signed report, in lower case as in `Request.headers`. Other scanners of the same form send them, too."""
REPORT_BYTES = 512 * 1024
"""100 texts with the longest addresses, which JSON may escape, fit in twice."""

TOKEN = "clm_3hG9kQ2vX7pLmN4rT8wYzB5cD6fJ1sAe"

ROWS = (
    Operation(
        name="mintKey",
        method="POST",
        path="/api/v1/auth/agent",
        summary="Mint an anonymous API key",
        description="Returns a key that works immediately, without credentials. It has a lifetime cap and expires; "
        "claim it by email to remove both limits. The body is optional and ignored, but must be a JSON object.",
        tag="Keys",
        handler=mint,
        result=MintedKey,
        access=Access.PUBLIC,
        body=Anything,
        body_optional=True,
        budget=Budget.MINT,
    ),
    Operation(
        name="startClaim",
        method="POST",
        path="/api/v1/auth/claim",
        summary="Start an email claim",
        description="Sends a code to the email address: 6 digits, or 12 after many requests in a day. The response is the "
        "same whether or not it has other keys.",
        tag="Keys",
        handler=start_claim,
        result=ClaimSent,
        access=Access.PUBLIC,
        body=ClaimStart,
        example={"claimToken": TOKEN, "email": "agent-owner@example.com"},
        codes=(Code.INVALID_CLAIM, Code.ALREADY_UPGRADED),
        budget=Budget.CLAIM_START,
    ),
    Operation(
        name="completeClaim",
        method="POST",
        path="/api/v1/auth/claim/complete",
        summary="Complete an email claim",
        description="Removes the expiry and lifetime cap of the key. The key itself does not change. Repeating a "
        "successful request within 10 minutes returns the same response. An account with a passkey takes no keys by email.",
        tag="Keys",
        handler=complete_claim,
        result=Usage,
        access=Access.PUBLIC,
        body=ClaimComplete,
        example={"claimToken": TOKEN, "email": "agent-owner@example.com", "code": "123456"},
        codes=(Code.INVALID_CLAIM, Code.INVALID_CODE, Code.ALREADY_UPGRADED, Code.KEY_LIMIT, Code.FORBIDDEN),
        budget=Budget.CLAIM_COMPLETE,
    ),
    Operation(
        name="reportExposedKeys",
        method="POST",
        path="/api/v1/keys/exposed",
        summary="Report exposed API keys",
        description="Ends API keys that were found in public, such as in a repository. The body is a list in the form of "
        "GitHub's secret scanning partner program. Each key of this service is revoked on every node within a second, with "
        "the keys that it granted, and its owner gets a mail. Whoever holds the text of a key may report it. Texts without a "
        "valid checksum, tokens of sessions, devices and claims, and secrets of webhooks are no keys. A repeated report "
        "returns the same. Reports that a known scanner has signed in the headers `Github-Public-Key-Identifier` and "
        "`Github-Public-Key-Signature` have no limit per address.",
        tag="Keys",
        handler=report_exposed,
        result=ExposedResults,
        access=Access.PUBLIC,
        body=ExposedKeys,
        example=[
            {
                "token": "cs_user_EXAMPLEexampleEXAMPLEexample0000_000000",
                "type": "catalog_api_key",
                "url": "https://code.example.com/team/tool/blob/main/settings.py",
                "source": "content",
            }
        ],
        body_bytes=REPORT_BYTES,
        codes=(Code.RATE_LIMITED,),
    ),
)
