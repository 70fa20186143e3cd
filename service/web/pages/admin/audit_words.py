"""The audit in words: what was done, and by what way. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from actors.bookings.records import BookingStatus, CampaignStatus
from actors.catalog.submissions import SubmissionStatus
from service.web.pages.admin.record_changes import LABELS
from service.web.pages.parts.badges import CAMPAIGNS, ISSUES, LISTED, SUBMISSIONS

DONE: Mapping[str, str] = {
    "account.deleted": "Deleted the account",
    "account.billing_details_saved": "Saved the details for invoices",
    "account.deletion_confirmed": "Confirmed the deletion of the account",
    "account.deletion_undone": "Kept the account after all",
    "account.mails_chosen": "Chose which mails to get",
    "account.report_shared": "Shared a report by a link",
    "account.report_unshared": "Ended the link to a report",
    "account.passkeys_removed": "Removed all passkeys of the account",
    "account.restored": "Restored the account",
    "account.suspended": "Suspended the account",
    "admin.granted": "Made the account an administrator",
    "admin.revoked": "Took the rights of an administrator away",
    "booking.cancelled": "Cancelled the booking",
    "booking.checkout_opened": "Opened the payment page",
    "booking.dispute_lost": "The payer's bank took the payment back",
    "booking.dispute_opened": "The payer's bank disputed the payment",
    "booking.dispute_won": "The payer's bank gave up the dispute",
    "booking.expired": "Released the weeks, which were not paid in time",
    "booking.paid": "Paid the booking",
    "booking.paid_too_late": "Paid after the hold had ended",
    "booking.paid_twice": "Paid the booking a second time",
    "booking.refund_declined": "The refund was refused by the payment processor",
    "booking.refund_failed": "The refund failed after it was reported as done",
    "booking.refund_returned": "A refund came back after disputes had taken the payment",
    "booking.refund_ordered": "Ordered the refund",
    "booking.refund_request_declined": "Declined the request for a refund",
    "booking.refund_requested": "Asked for a refund",
    "booking.refunded": "Refunded the booking",
    "booking.refunded_in_part": "Refunded a part of the booking",
    "booking.reserved": "Booked the weeks",
    "booking.video_described": "Described the video",
    "booking.material_sent": "Sent material for the video",
    "campaign.approved": "Approved the ad",
    "campaign.created": "Created the ad",
    "campaign.edit_approved": "Approved the edit of the ad",
    "campaign.edit_rejected": "Rejected the edit of the ad",
    "campaign.edit_withdrawn": "Took the edit of the ad back",
    "campaign.edited": "Edited the ad",
    "campaign.paused": "Paused the ad",
    "campaign.rejected": "Rejected the ad",
    "campaign.resumed": "Resumed the ad",
    "campaign.submitted": "Sent the ad for review",
    "campaign.withdrawn": "Took the ad back from review",
    "catalog.imported": "Imported a file into the catalog",
    "demo.removed": "Removed the sample data",
    "demo.seeded": "Wrote the sample data",
    "device.approved": "Approved the device",
    "device.denied": "Denied the device",
    "entry.created": "Added the entry to the catalog",
    "entry.edited": "Edited the entry of the catalog",
    "entry.restored": "Restored the entry of the catalog",
    "entry.retired": "Retired the entry of the catalog",
    "key.changed": "Changed the key",
    "key.claimed": "Claimed the key",
    "key.exposed": "Revoked the key, which was found in public",
    "key.issued": "Issued the key",
    "key.revoked": "Revoked the key",
    "key.rotated": "Rotated the key",
    "keys.ended": "Revoked all keys of the account",
    "passkey.added": "Added the passkey",
    "passkey.refused": "A passkey was refused as a copy",
    "passkey.removed": "Removed the passkey",
    "passkey.renamed": "Renamed the passkey",
    "profile.saved": "Saved the sponsor's profile",
    "session.awaits_passkey": "Wrote the code of a sign-in, which waits for a passkey",
    "session.confirmed": "Confirmed the browser with a passkey",
    "session.ended": "Signed the browser out",
    "session.link_issued": "Made a link to sign in with",
    "session.started": "Signed in",
    "session.started_by_link": "Signed in with a link",
    "sessions.ended": "Signed all browsers out",
    "slot.created": "Created the slot",
    "slot.edited": "Edited the slot",
    "slot.retired": "Retired the slot",
    "submission.accepted": "Accepted the submission to the catalog",
    "submission.created": "Proposed an entry for the catalog",
    "submission.declined": "Declined the submission to the catalog",
    "webhook.created": "Created the webhook",
    "webhook.deleted": "Deleted the webhook",
    "webhook.enabled": "Turned the webhook on again",
    "webhook.resent": "Sent the event again",
    "webhook.tested": "Sent a test to the webhook",
}
"""By the kind of the change (`action`)."""

WAYS: Mapping[str, str] = {"key": "With a key", "session": "In a browser", "cli": "On the command line"}
"""By the kind of the actor."""

PARTS: Mapping[str, str] = {
    "payments": "The payment processor",
    "cashier": "The service, when time was up",
    "retention": "The service, when time was up",
    "start": "The service, at its start",
}
"""By the part of the service that acted, if its name says more than that it did."""

NAMES: Mapping[str, str] = {
    **LABELS,
    "target_url": LABELS["targetUrl"],
    "logo_text": LABELS["logoText"],
    "shownAs": "Shown as",
    "shown_as": "Shown as",
    "durationWeeks": "Weeks of one booking",
    "weeks": "Weeks of one booking",
    "weekStart": "From",
    "unshownWeeks": "Weeks not shown",
    "slotId": "Slot",
    "tenantId": "Account",
    "packageKind": "Package",
    "youtubeStatus": "Video",
    "youtubeUrl": "Address of the video",
    "youtubeNotes": "Notes on the video",
}
"""Names of changed values that `label` does not make of their parts."""

STATUSES: Mapping[str, Mapping[str, str]] = {
    "booking": {status.value: LISTED[status] for status in BookingStatus},
    "campaign": {status.value: CAMPAIGNS[status].words for status in CampaignStatus},
    "submission": {status.value: SUBMISSIONS[status].words for status in SubmissionStatus},
}
"""Words of the value `status`, by the kind of what was changed."""

_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_UNITS = ("cents", "ms")


def done(action: str) -> str:
    """The action, as the beginning of a sentence."""
    return DONE.get(action) or action.replace("_", " ").replace(".", " ").capitalize()


def way(record: Mapping[str, Any]) -> str:
    """Return the way in which a person acted, or the part of the service that acted."""
    kind = record["actorType"]
    return WAYS.get(kind) or PARTS.get(record["actorId"], "The service")


def value(kind: str, name: str, text: str) -> str:
    """A changed value of something of this kind, with a status or a problem with a payment in words."""
    if name in ("paymentIssue", "payment_issue"):
        return ISSUES[text].words if text in ISSUES else text
    return STATUSES.get(kind, {}).get(text, text) if name == "status" else text


def label(name: str) -> str:
    """The name of a changed value: `weekPriceCents` is `Week price`, and `pendingHeadline`, of an edit, `New headline`."""
    if name in NAMES:
        return NAMES[name]
    edited = name.removeprefix("pending")
    if edited != name and edited[:1].isupper():
        return f"New {label(edited[0].lower() + edited[1:]).lower()}"
    parts = [part.lower() for part in _PARTS.findall(name)]
    if len(parts) > 1 and parts[-1] in _UNITS:
        parts.pop()
    return " ".join(parts).capitalize() or name
