"""Wire models of signing in and of browser sessions. Knows nothing of cookies."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.schemas.fields import Milliseconds
from service.schemas.keys import Email


class SignInStart(BaseModel):
    model_config = ConfigDict(strict=True)

    email: Email


class SignInSent(BaseModel):
    sent: Literal[True]


class SignInComplete(BaseModel):
    model_config = ConfigDict(strict=True)

    email: Email
    code: Annotated[str, Field(min_length=4, max_length=64)]


class SessionBegun(BaseModel):
    """A new session; the browser has it as a cookie."""

    id: str
    email: str
    expiresAt: int = Field(description="Epoch milliseconds; begins anew while the session is used")


class SessionShown(BaseModel):
    """A session as its account sees it."""

    id: str
    agent: str = Field(description="The browser's own name for itself")
    createdAt: Milliseconds
    seenAt: int = Field(description="Epoch milliseconds of its last use, up to an hour")
    expiresAt: Milliseconds
    current: bool = Field(description="Whether it is the one that asks")


class SessionList(BaseModel):
    """The live sessions of the account, the last used first."""

    items: list[SessionShown]


class SessionEnded(BaseModel):
    ended: Literal[True]
