"""Wire models of the authorization of clients (RFC 6749, 7591 and 7009), and of the page on which a person decides.

Properties that these standards have and this service does not use are ignored, as they demand.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from service.schemas.devices import GRANT
from service.schemas.fields import Count, Query, Strict, absent, optional

AUTHORIZATION_CODE, REFRESH_TOKEN = "authorization_code", "refresh_token"
LONGEST = 2_000

Parameter = Annotated[str, Field(max_length=LONGEST)]
"""A parameter of a form. One without a value counts as absent (RFC 6749, 3.2)."""


class ClientRegistration(BaseModel):
    """The metadata of a client that registers (RFC 7591, 2). The operation checks it, because its refusals have codes of
    their own."""

    redirect_uris: Annotated[
        Any,
        WithJsonSchema(
            {"type": "array", "items": {"type": "string", "maxLength": 1_000}, "minItems": 1, "maxItems": 10},
        ),
    ] = Field(
        default=None,
        description="Where browsers return to: https, http of 127.0.0.1, [::1] or localhost with any port, or a scheme of "
        "the program. At most 1,000 characters together",
    )
    client_name: Annotated[Any, WithJsonSchema({"type": "string"})] = absent(
        "Name to show to people; one line of at most 64 characters. Any other is replaced by a host"
    )


class ClientRegistered(BaseModel):
    """A registered client. It is public: it has no secret."""

    client_id: str = Field(description="Id to send with each request of this client")
    client_id_issued_at: Count = Field(description="Seconds since the epoch")
    client_name: str = Field(description="Name that people are shown")
    redirect_uris: list[str] = Field(description="As they were registered")
    grant_types: list[Literal["authorization_code", "refresh_token"]] = Field(description="Always both")
    response_types: list[Literal["code"]] = Field(description="Always `code`")
    token_endpoint_auth_method: Literal["none"] = Field(description="Always `none`, whatever was asked for")


class TokenRequest(BaseModel, strict=True):
    """A request for tokens (RFC 6749, 4.1.3 and 6; RFC 8628, 3.4); other properties are ignored."""

    grant_type: Annotated[
        Parameter, WithJsonSchema({"type": "string", "enum": [AUTHORIZATION_CODE, REFRESH_TOKEN, GRANT]})
    ] = absent("The kind of what is exchanged")
    client_id: Parameter = absent("Id of the client; with a code or a refresh token")
    code: Parameter = absent("With `authorization_code`: the code")
    redirect_uri: Parameter = absent("With `authorization_code`: as in the authorization request")
    code_verifier: Parameter = absent("With `authorization_code`: 43 to 128 characters of A-Z, a-z, 0-9, -, ., _ and ~")
    refresh_token: Parameter = absent("With `refresh_token`: the newest one")
    scope: Parameter = absent("With `refresh_token`: scopes that were allowed; the key keeps all of them")
    resource: Parameter = absent("As in the authorization request, or absent (RFC 8707)")
    device_code: Parameter = absent("With the grant of RFC 8628: the `device_code` of a device login")
    client_secret: Parameter = absent("Refused unless it is empty: clients are public")
    client_assertion: Parameter = absent("Refused unless it is empty: clients are public")


class AccessToken(BaseModel):
    """Tokens of an account (RFC 6749, 5.1)."""

    access_token: str = Field(description="A key, shown only in this response. Send it as `Authorization: Bearer`")
    token_type: Literal["Bearer"] = Field(description="Always `Bearer`")
    expires_in: Count | None = optional("Seconds until `access_token` expires; absent for devices, whose key does not")
    refresh_token: str | None = optional("Gets the next tokens, once; absent for devices")
    scope: str | None = optional("Scopes of the key, separated by spaces; absent for devices, which get a full key")


class TokenRevocation(BaseModel, strict=True):
    """A token to revoke (RFC 7009, 2.1); other properties are ignored."""

    token: Parameter = Field(description="An access token or a refresh token")
    token_type_hint: Parameter = absent("Ignored: both kinds are looked up")
    client_id: Parameter = Field(description="Id of the client that has the token")


class TokenRevoked(BaseModel):
    """The token is not valid any more, or never was. The response does not tell which."""


Asked = Annotated[str, Field(max_length=8_000)]
"""The query of an authorization request, as the program sent it."""


class AuthorizationAsked(Query):
    """An authorization request to show."""

    request: Asked


class AuthorizationDecision(Strict):
    """A person's decision. `ticket` is that of the page that showed the request, `days` the life of the key."""

    request: Asked
    ticket: Annotated[str, Field(max_length=200)]
    decision: Literal["approve", "deny"]
    scopes: Annotated[list[str], Field(max_length=10)]
    days: Literal[30, 90, 365]


class AuthorizationShown(BaseModel):
    """What a program asks for. With `error`, the request is wrong, and `goOn` is where the program learns of it.

    `place` is the host of the program's document, or the host or scheme to which the browser returns. `source` is the latter
    in a content security policy. `local`: the program is on the machine of the person, so the browser goes on by itself.
    """

    name: str
    described: str | None = None
    place: str
    local: bool
    source: str
    scopes: tuple[str, ...] = ()
    ticket: str = ""
    error: str | None = None
    goOn: str | None = None


class AuthorizationDecided(BaseModel):
    """The address at which the program learns of the decision."""

    goOn: str
