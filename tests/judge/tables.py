"""The states of bookings and campaigns with their moves, as docs/sponsorship.md draws them. Data."""

from collections.abc import Mapping

BOOKING_STATES: Mapping[str, frozenset[str]] = {
    "reserved": frozenset({"checkout", "expired", "cancelled"}),
    "checkout": frozenset({"paid", "refunding", "expired", "cancelled"}),
    "paid": frozenset({"refunding", "refunded"}),
    "refunding": frozenset({"refunded", "paid"}),
    "expired": frozenset({"paid", "refunding"}),
    "cancelled": frozenset({"refunding"}),
    "refunded": frozenset({"refunding", "paid"}),
}
"""The states that may follow each state of a booking."""

CAMPAIGN_MOVES: Mapping[str, Mapping[str, str]] = {
    "draft": {"submit": "pending", "edit": "draft"},
    "pending": {"withdraw": "draft", "edit": "pending", "approve": "approved", "reject": "rejected"},
    "approved": {
        **dict.fromkeys(("edit", "approve edit", "reject edit", "withdraw edit"), "approved"),
        "pause": "paused",
        "reject": "rejected",
    },
    "paused": {
        **dict.fromkeys(("edit", "approve edit", "reject edit", "withdraw edit"), "paused"),
        "resume": "approved",
        "reject": "rejected",
    },
    "rejected": {"submit": "pending", "edit": "rejected"},
}
"""The state that follows each move of a campaign, by its state."""

SUBMISSION_MOVES: Mapping[str, Mapping[str, str]] = {
    "pending": {"accept": "accepted", "decline": "declined"},
}
"""The same for submissions."""

LOGIN_STATES: Mapping[str, frozenset[str]] = {
    "pending": frozenset({"approved", "denied", "expired", "redeemed"}),
    "approved": frozenset({"expired", "redeemed"}),
}
"""The states that may come after each state of a device login. The others are final."""

REQUESTS: Mapping[str, tuple[str, ...]] = {
    "submitCampaign": ("submit",),
    "withdrawCampaign": ("withdraw", "withdraw edit"),
    "pauseCampaign": ("pause",),
    "resumeCampaign": ("resume",),
    "editCampaign": ("edit",),
    "approve": ("approve", "approve edit"),
    "reject": ("reject", "reject edit"),
    "pause": ("pause",),
    "resume": ("resume",),
    "accept": ("accept",),
    "decline": ("decline",),
}
"""The moves that an operation may make; of a review, by its decision."""


def _reachable() -> Mapping[str, frozenset[str]]:
    reached = {state: {state} for state in BOOKING_STATES}
    for _ in BOOKING_STATES:
        for found in reached.values():
            found.update(*(BOOKING_STATES[each] for each in tuple(found)))
    return {state: frozenset(found) for state, found in reached.items()}


REACHABLE = _reachable()
"""All states of a booking that may come after each state, itself included."""
