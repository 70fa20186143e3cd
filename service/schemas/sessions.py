"""Wire models of sign-in and of browser sessions. They know no cookies."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from service.schemas.fields import Milliseconds, optional
from service.schemas.keys import Email


class SignInStart(BaseModel, strict=True):
    email: Email


class SignInSent(BaseModel):
    sent: Literal[True]


class SignInComplete(BaseModel, strict=True):
    email: Email
    code: Annotated[str, Field(min_length=4, max_length=64)]


class SessionBegun(BaseModel):
    """A new session; the browser receives it as a cookie. With `passkeyRequired` it is no session yet."""

    id: str
    email: str
    expiresAt: int = Field(description="Epoch milliseconds; moves on while the session is used")
    passkeyRequired: Literal[True] | None = optional(
        "The account has a passkey, and the session begins once the browser has shown it"
    )


class SignInPending(BaseModel):
    """A sign-in that waits for a passkey."""

    id: str
    email: str
    expiresAt: Milliseconds


class SignInCancelled(BaseModel):
    cancelled: Literal[True]


class SessionShown(BaseModel):
    """A session as seen by its account."""

    id: str
    agent: str = Field(description="The browser's name for itself")
    createdAt: Milliseconds
    seenAt: int = Field(description="Epoch milliseconds of the last use, accurate to an hour")
    expiresAt: Milliseconds
    current: bool = Field(description="Whether this session sent the request")


class SessionList(BaseModel):
    """The live sessions of the account, most recently used first."""

    items: list[SessionShown]


class SessionEnded(BaseModel):
    ended: Literal[True]
