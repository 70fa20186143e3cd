"""What a client does about each error code. Pure."""

from collections.abc import Mapping

from actors.values import Code

REMEDIES: Mapping[Code, str] = {
    Code.INVALID_REQUEST: "Correct the fields that `fields` lists, or else the message names.",
    Code.INVALID_CLAIM: "Use the claim token of the key, and the email address that the code went to.",
    Code.INVALID_CODE: "Check the code. It may be wrong, used or expired; request a new one.",
    Code.INVALID_PASSKEY: "Request a new challenge and try again with a passkey of this account.",
    Code.AUTHORIZATION_PENDING: "Poll again after `interval` seconds: the person has not decided yet.",
    Code.SLOW_DOWN: "Poll at the new `interval`.",
    Code.EXPIRED_TOKEN: "Start a new device login.",
    Code.ACCESS_DENIED: "Stop polling: the person denied the device.",
    Code.UNAUTHORIZED: "Send `Authorization: Bearer` and the key, or sign in.",
    Code.INVALID_API_KEY: "Check the key for a missing character, or create a new one.",
    Code.KEY_EXPIRED: "Claim the key. It then works again. A key of an account stays ended: create another one.",
    Code.QUOTA_EXHAUSTED: "Claim the key. If it is claimed, wait for the next calendar month (UTC).",
    Code.CLAIM_REQUIRED: "Claim the key. An anonymous key cannot do this, or has reached its limit.",
    Code.INSUFFICIENT_SCOPE: "Use a key with the scope that the message names.",
    Code.FORBIDDEN: "Use an account that may do this. In a browser, send the request from a page of this service.",
    Code.NOT_FOUND: "Check the path and the id or slug in it.",
    Code.METHOD_NOT_ALLOWED: "Use a method that the `Allow` header names.",
    Code.ALREADY_UPGRADED: "Sign in with the email address that claimed the key.",
    Code.KEY_LIMIT: "Revoke a key that you no longer need.",
    Code.PASSKEY_LIMIT: "Remove a passkey that you no longer use.",
    Code.SLOT_UNAVAILABLE: "Choose another week or slot. This one is taken, over, or not sold.",
    Code.CAMPAIGN_NOT_BOOKABLE: "Edit the rejected campaign and submit it again.",
    Code.PROFILE_REQUIRED: "Save the sponsor profile first.",
    Code.HOLD_LIMIT: "Pay or cancel an unpaid booking first, or wait as long as `retryAfter` says.",
    Code.CAMPAIGN_LIMIT: "Edit a campaign instead of creating one, withdraw one, or wait for a review.",
    Code.WEBHOOK_LIMIT: "Delete a webhook first.",
    Code.IDEMPOTENCY_CONFLICT: "Use a new idempotency key for a different body. A key is not shown again.",
    Code.INVALID_STATE: "Read the resource again. Its state does not allow this.",
    Code.PAYLOAD_TOO_LARGE: "Send a smaller body.",
    Code.UNSUPPORTED_MEDIA_TYPE: "Send JSON with `Content-Type: application/json`.",
    Code.RATE_LIMITED: "Wait as long as `Retry-After` says.",
    Code.INTERNAL_ERROR: "Try again later. If it lasts, report the `X-Request-Id` of the response.",
    Code.SERVICE_UNAVAILABLE: "Try again after `Retry-After`, a booking with the same `idempotencyKey`. Nothing was counted.",
}
"""The remedy of each code. Words in backticks are code."""
