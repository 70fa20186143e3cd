"""The sentences that a page shows on top after a form succeeded, by their name in its address.

An address holds only the name, so it cannot make a page say anything else.
"""

from collections.abc import Mapping

NOTICES: Mapping[str, str] = {
    "signed_in": "You are signed in.",
    "signed_out": "You are signed out.",
    "sign_in_again": "You are not signed in, so nothing was done. Sign in, and send the form again.",
    "sign_in_ended": "This sign-in has ended. Ask for a new code.",
    "sign_in_cancelled": "The sign-in is cancelled.",
    "passkey_needed": "Administration needs a passkey. Add one here, or confirm this session with yours.",
    "passkey_added": "The passkey is added. From now on, signing in takes a passkey after the code.",
    "passkey_confirmed": "This session is confirmed with your passkey.",
    "passkey_renamed": "The passkey is renamed.",
    "passkey_removed": "The passkey is removed.",
    "claimed": "The key is claimed.",
    "profile_saved": "Your profile is saved.",
    "campaign_created": "The campaign is created and waits for review. You can book a week for it now.",
    "campaign_saved": "The campaign is saved.",
    "edit_saved": "The edit is saved and waits for review. Until it is approved, the approved words are shown.",
    "campaign_submit": "The campaign is submitted and waits for review.",
    "campaign_withdraw": "The campaign is withdrawn. It is a draft now.",
    "campaign_pause": "The campaign is paused. It is not shown until you resume it.",
    "campaign_resume": "The campaign is resumed.",
    "refund_requested": "Your request is sent. An administrator decides on it and mails you.",
    "reserved": "The weeks are held for you. Pay before the hold runs out.",
    "booking_cancelled": "The booking is cancelled, and its weeks are free again.",
    "webhook_tested": "A test is on its way. Reload this page to see the answer.",
    "webhook_enabled": "The webhook is on again. What waited is sent in order.",
    "webhook_resent": "The event is on its way again.",
    "webhook_deleted": "The webhook is deleted.",
    "key_revoked": "The key is revoked. Requests that use it are refused from now on.",
    "mails_chosen": "Your choice of mails is saved.",
    "all_ended": "All keys and all other sessions of your account are ended.",
    "session_ended": "The session is ended. That browser has to sign in again.",
    "deletion_scheduled": "The deletion is confirmed. You can undo it until it begins.",
    "deletion_undone": "The account is kept.",
    "campaign_approved": "The campaign is approved. It is shown in the weeks that are paid for.",
    "campaign_rejected": "The campaign is rejected. The sponsor can read your note.",
    "campaign_paused": "The campaign is paused. It is not shown until it is resumed.",
    "slot_created": "The slot is created.",
    "slot_saved": "The slot is saved. Existing bookings stay as they were.",
    "slot_retired": "The slot is retired. It is no longer shown or sold.",
    "refund_ordered": "The refund is ordered.",
    "video_saved": "The description of the video is saved.",
    "tier_set": "The tier is set. Every node applies it within a second.",
    "device_approved": "The device is approved. It gets its key within seconds, and the dashboard shows the key.",
    "device_denied": "The device is denied. It gets no key.",
    "key_created_already": "This form has already created its key. A key is shown only once. Create another one if you "
    "did not save it.",
}
