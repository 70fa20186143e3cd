"""The challenges of `/mcp`: how a client without a usable key gets one, or one that may do more (RFC 6750, 3; RFC 9728, 5.1).
Pure."""

from collections.abc import Collection

from actors.values import Code, Refused, Scope
from service.api.errors import description_of
from service.api.messages import Headers
from service.api.oauth.requests import OFFERED, USUAL

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"

ERRORS = {
    Code.UNAUTHORIZED: 401,
    Code.INVALID_API_KEY: 401,
    Code.KEY_EXPIRED: 401,
    Code.INSUFFICIENT_SCOPE: 403,
}
"""The status of a refusal that another authorization resolves. All other refusals of an operation are results."""


def challenge_of(refused: Refused, resource_metadata: str, scopes: Collection[Scope], *, sent: bool) -> Headers:
    """The header of a refusal in `ERRORS`. `resource_metadata` is the address of that document. `scopes` are those that the
    operation needs and that the key has; `sent` says whether the request had credentials."""
    asked = [scope for scope in OFFERED if scope in (*USUAL, *scopes)]
    parts = [f'resource_metadata="{resource_metadata}"', f'scope="{" ".join(asked)}"']
    if sent:
        error = "insufficient_scope" if refused.code is Code.INSUFFICIENT_SCOPE else "invalid_token"
        parts = [f'error="{error}"', f'error_description="{description_of(refused)}"', *parts]
    return [("www-authenticate", f"Bearer {', '.join(parts)}")]
