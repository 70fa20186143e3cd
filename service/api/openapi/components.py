"""Headers, security schemes, tags and families of errors, which operations of the document refer to."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from actors.events.router import EventOutcome
from service.api.errors import Family
from service.api.operation import Operation
from service.schemas.fields import CatalogError, DeviceError, SponsorshipError

ERRORS: Mapping[Family, type[BaseModel]] = {
    Family.CATALOG: CatalogError,
    Family.SPONSORSHIP: SponsorshipError,
    Family.DEVICE: DeviceError,
}


def text(description: str, **schema: Any) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string", **schema}}


HEADERS: Mapping[str, Any] = {
    "X-Request-Id": text(
        "Identifies this request in the service's log. Include it when you contact support.",
        pattern="^[0-9A-Za-z._-]{1,64}$",
    ),
    "Retry-After": {
        "description": "Seconds to wait before the next attempt.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": text(
        "The authentication scheme to use; `Basic` for a client that is unknown or sent a secret.",
        pattern="^(Bearer|Basic)$",
    ),
    "RateLimit-Policy": text("The limit of each window of the key: requests in `q`, and seconds of the window in `w`."),
    "RateLimit": text(
        "Requests left in each window in `r`, and seconds until it begins anew in `t`. The responding node counts the minute."
    ),
    "Set-Cookie": text("Sets or deletes the session cookie."),
    "Content-Disposition": text("Lets a browser save the response as a file."),
    "ETag": text("Strong validator of the response. Send it back in `If-None-Match`: a 304 is not charged to a key."),
    "Link": text('The address of the next page, as `rel="next"` (RFC 8288). Absent on the last one.'),
    "X-Search-Relaxed": text(
        "Present if no entry has all words of `q`: those returned have the most of them, or similar words.",
        const="true",
    ),
    "X-Event-Dropped": text(
        "Why the event was not recorded. Absent if it was.",
        enum=[str(each) for each in EventOutcome if each is not EventOutcome.RECORDED],
    ),
}

SECURITY_SCHEMES: Mapping[str, Any] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-session",
        "description": "A signed-in browser session. Over plain http the cookie is named `session`. "
        "Requests that change something must come from a page of this service.",
    },
}

TAGS: Mapping[str, str] = {
    "Keys": "Mint an anonymous key without signing up, and claim it by email to lift its limits.",
    "Device login": "Let a program get a key that a person approves in a browser (RFC 8628).",
    "Device approval": "The person's side of a device login, in a signed-in browser.",
    "Authorization": "Let a program act for an account, as a person approves in a browser (OAuth 2.1).",
    "Sign-in": "Browser sessions: sign in with an emailed code, and with a passkey if the account has one.",
    "Passkeys": "The passkeys of the signed-in account (WebAuthn).",
    "Account": "Usage, keys, mails, export and deletion of the calling account.",
    "Catalog": "Use cases and bot templates, whose texts are written by third parties. A key is optional.",
    "Submissions": "Entries and edits that accounts propose for the catalog, and how their review went.",
    "Sponsorship": "Slots, prices, live placements and their events, for websites and visitors. A key is optional.",
    "Sponsors": "The calling account as a sponsor.",
    "Campaigns": "The creatives of a sponsor, and their way through review.",
    "Bookings": "Weeks of slots: reserve, pay, cancel, refund, and follow their delivery.",
    "Scoped keys": "Keys that may do less than their account.",
    "Webhooks": "Events of the account's bookings and campaigns, posted to your own systems (Standard Webhooks).",
    "Administration": "Reviews, slots, bookings, accounts and the audit log. Needs an administrator's account.",
    "Payments": "Events of the payment processor.",
    "Operation": "Whether the process and the node work, for load balancers and supervisors.",
}
"""The purpose of each group of operations."""


def tags(operations: Sequence[Operation]) -> list[dict[str, str]]:
    """The tags in the order of their operations, with what they are for."""
    used = dict.fromkeys(operation.tag for operation in operations)
    return [{"name": tag} | ({"description": TAGS[tag]} if tag in TAGS else {}) for tag in used]


def reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}
