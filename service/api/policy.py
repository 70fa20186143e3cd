"""Access and budgets of operations: who may call, and which limit per client address applies. Pure values."""

from enum import Enum


class Access(Enum):
    """Which credentials an operation takes.

    `PUBLIC` ignores them, `OPTIONAL` uses a key if there is one, `REQUIRED` needs a key or a browser session, and
    `SESSION` needs a browser session, for decisions that only a person makes.
    """

    PUBLIC = "public"
    OPTIONAL = "optional"
    REQUIRED = "required"
    SESSION = "session"


class Budget(Enum):
    """A limit per client address that is separate from that of readers: per minute for events and polls, else per hour."""

    MINT = "mint"
    CLAIM_START = "claim_start"
    CLAIM_COMPLETE = "claim_complete"
    DEVICE_START = "device_start"
    DEVICE_POLL = "device_poll"
    SIGN_IN_START = "sign_in_start"
    SIGN_IN_COMPLETE = "sign_in_complete"
    EVENTS = "events"
