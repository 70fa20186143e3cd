"""Sentences that are shown on top of the page which a form leads to, by the name that stands in its address.

Only what stands here is shown: an address cannot make a page say anything else.
"""

from collections.abc import Mapping

NOTICES: Mapping[str, str] = {
    "signed_in": "You are signed in.",
    "signed_out": "You are signed out.",
    "sign_in_again": "You are not signed in, and nothing was done. Sign in, and send the form again.",
    "claimed": "The key is claimed.",
    "profile_saved": "Your profile is saved.",
    "campaign_created": "The campaign is made, and waits for review. You can book a week for it now.",
    "campaign_saved": "The campaign is saved.",
    "campaign_submit": "The campaign is submitted, and waits for review.",
    "campaign_withdraw": "The campaign is withdrawn, and a draft now.",
    "campaign_pause": "The campaign is paused: it is not shown until you resume it.",
    "campaign_resume": "The campaign goes on.",
    "reserved": "The weeks are held for you. Pay before the hold runs out.",
    "booking_cancelled": "The booking is cancelled, and its weeks are free again.",
    "key_revoked": "The key is revoked. Whatever uses it is refused from now on.",
    "session_ended": "The session is ended. That browser has to sign in anew.",
    "campaign_approved": "The campaign is approved: it is shown in the weeks that are paid for.",
    "campaign_rejected": "The campaign is rejected; its sponsor reads your note.",
    "campaign_paused": "The campaign is paused, and not shown meanwhile.",
    "slot_created": "The slot is created.",
    "slot_saved": "The slot is changed. What is booked already stays as it was.",
    "slot_retired": "The slot is retired: it is shown and sold no more.",
    "refund_ordered": "The refund is ordered.",
    "video_saved": "The video is described.",
    "tier_set": "The tier is set, on every node within a second.",
    "device_approved": "The device is approved. Go back to it: it has its key within seconds, and the dashboard shows it.",
    "device_denied": "The device was refused. It gets no key.",
    "key_created_already": "This form has already created its key. A key is shown only once: create another one if you "
    "did not save it.",
}
