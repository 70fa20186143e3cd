"""The credentials that an operation takes, and its limit per client address. Pure values."""

from enum import Enum


class Access(Enum):
    """`PUBLIC` ignores credentials, `OPTIONAL` uses a key if there is one, `REQUIRED` needs a key or a browser session.

    `SESSION` needs a browser session: only a person can do this.
    """

    PUBLIC = "public"
    OPTIONAL = "optional"
    REQUIRED = "required"
    SESSION = "session"


class Budget(Enum):
    """A separate limit per client address: per minute for events, polls, registrations, reports and reads without a key,
    otherwise per hour."""

    KEYLESS = "keyless"
    PLACEMENTS = "placements"
    MINT = "mint"
    EXPOSED = "exposed"
    CLAIM_START = "claim_start"
    CLAIM_COMPLETE = "claim_complete"
    DEVICE_START = "device_start"
    DEVICE_POLL = "device_poll"
    SIGN_IN_START = "sign_in_start"
    SIGN_IN_COMPLETE = "sign_in_complete"
    EXPORT = "export"
    REGISTER = "register"
    EVENTS = "events"
