"""Wire models of sign-in and of browser sessions. They know no cookies."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from service.schemas.fields import Milliseconds, optional
from service.schemas.keys import Email


class SignInStart(BaseModel, strict=True):
    """The email address to sign in with."""

    email: Email = Field(description="Email address to send the code to")


class SignInSent(BaseModel):
    """The code is on its way."""

    sent: Literal[True] = Field(description="Always true")


class SignInComplete(BaseModel, strict=True):
    """An email address and the code that it received."""

    email: Email = Field(description="Email address that received the code")
    code: Annotated[str, Field(min_length=4, max_length=64)] = Field(description="The code of the mail: 6 or 12 digits")


class SessionBegun(BaseModel):
    """A new session; the browser receives it as a cookie. With `passkeyRequired` it is no session yet."""

    id: str = Field(description="Id of the session")
    email: str = Field(description="Email address of the account, in lower case")
    expiresAt: Milliseconds = Field(description="Epoch milliseconds; moves on while the session is used")
    passkeyRequired: Literal[True] | None = optional(
        "The account has a passkey, and the session begins once the browser has shown it"
    )


class SignInPending(BaseModel):
    """A sign-in that waits for a passkey."""

    id: str = Field(description="Id of the sign-in")
    email: str = Field(description="Email address of the account, in lower case")
    expiresAt: Milliseconds


class SignInCancelled(BaseModel):
    """No sign-in waits any more."""

    cancelled: Literal[True] = Field(description="Always true")


class SessionShown(BaseModel):
    """A session as seen by its account."""

    id: str = Field(description="Id of the session")
    agent: str = Field(description="The browser's name for itself")
    createdAt: Milliseconds
    seenAt: Milliseconds = Field(description="Epoch milliseconds of the last use, accurate to an hour")
    expiresAt: Milliseconds
    current: bool = Field(description="Whether this session sent the request")


class SessionList(BaseModel):
    """The live sessions of the account, most recently used first."""

    items: list[SessionShown] = Field(description="The sessions")


class SessionEnded(BaseModel):
    """The session is ended."""

    ended: Literal[True] = Field(description="Always true")
