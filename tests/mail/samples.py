"""A message of every template, with facts as the rules write them, and with facts that somebody wrote to do harm."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.mail.messages import QueuedMessage
from actors.shared.code_mails import LONG
from actors.times import WEEK_MS, week_of
from tests.mail.outgoing import BASE_MS

BOOKED = {
    "booking": "bkg_4Xw8",
    "slot": "Left column",
    "campaign": "Autumn launch",
    "week_start_ms": str(week_of(BASE_MS) + WEEK_MS),
    "weeks": "1",
    "amount_cents": "9900",
    "currency": "usd",
    "mode": "live",
}
REASON = "Our launch moved to spring.\nWe would like to book a week in March in its place."
NOTE = "The headline promises a result that the page does not show. Say what the tool does."
DISPUTE = {"booking": "bkg_4Xw8", "slot": "Left column", "campaign": "Autumn launch", "payment": "pi_3Qb"}
MONEY = {"amount_cents": "24900", "currency": "usd", "disputed_cents": "5000", "lost_cents": "5000", "decide": ""}
ENDS = {"target": "key_1", "label": "cs_user_1B2c"}
SUBMITTED = {"name": "Receipt sorter", "kind": "bots", "slug": "receipt-sorter", "edit": "", "note": ""}
CAMPAIGN = {"campaign": "Autumn launch", "campaign_id": "cmp_7Yd"}

FACTS: Mapping[str, dict[str, str]] = {
    "claim_code": {"label": "cs_anon_abcd"},
    "sign_in_code": {},
    "passkey_added": {"name": "Laptop"},
    "passkey_removed": {"name": "Laptop"},
    "deletion_code": {},
    "deletion_scheduled": {"day": "1 May 2027, 12:00 UTC"},
    "deletion_undone": {},
    "account_deleted": {},
    "account_suspended": {"reason": "The ads lead to a page that installs software."},
    "account_restored": {},
    "dispute_opened": DISPUTE | MONEY | {"status": "paid"},
    "dispute_won": DISPUTE | MONEY | {"status": "refunding", "decide": "yes"},
    "dispute_lost": DISPUTE | MONEY | {"status": "paid"},
    "new_key": ENDS | {"ends": "key", "how": "It was created on the dashboard."},
    "key_ends": {"label": "cs_scoped_1B2c", "name": "Nightly report", "expires_ms": str(BASE_MS + 7 * DAY_MS)},
    "key_exposed": {
        "label": "cs_user_1B2c",
        "name": "Nightly report",
        "url": "https://code.example.com/team/tool/blob/main/settings.py",
        "others": "2",
    },
    "new_session": ENDS | {"ends": "session", "label": "Firefox on Linux"},
    "new_administrator": ENDS | {"ends": "admin", "label": "an administrator"},
    "review_digest": {
        "count": "12",
        "ads": "\n".join(f"Example Tools {n}: Ship your agent today" for n in range(1, 11)),
    },
    "campaign_approved": CAMPAIGN | {"edit": ""},
    "campaign_rejected": CAMPAIGN | {"edit": "", "note": NOTE},
    "submission_accepted": SUBMITTED,
    "submission_declined": SUBMITTED | {"note": "The source does not mention the result."},
    "submissions_wait": {},
    "booking_reserved": BOOKED | {"hold_ms": str(BASE_MS + 30 * MINUTE_MS)},
    "booking_receipt": BOOKED,
    "week_begins": BOOKED | {"shown": "yes"},
    "week_ended": BOOKED
    | {"impressions": "15507", "clicks": "321", "refund_cents": "0", "unshown_weeks": "0"}
    | {"filtered": "2468", "duplicate": "1200", "crawler": "1001", "prefetch": "207", "capped": "60", "inactive": "0"},
    "weekly_report": {
        "week_start_ms": str(BASE_MS - BASE_MS % DAY_MS - 7 * DAY_MS),
        "first": "2026-11-13",
        "last": "2026-11-19",
        "impressions": "15507",
        "clicks": "321",
    },
    "refund_requested": BOOKED | {"reason": REASON},
    "refund_to_decide": BOOKED | {"sponsor": "Example Tools", "reason": REASON},
    "video_material": BOOKED | {"sponsor": "Example Tools"},
    "refund_made": BOOKED | {"refund_cents": "9900"},
    "refund_declined": BOOKED | {"note": NOTE},
    "refund_failed": BOOKED | {"why": "The card issuer declined the refund (expired_or_canceled_card)."},
    "webhook_off": {
        "url": "https://tools.example.com/hooks/catalog",
        "error": "503 Service Unavailable",
        "since_ms": str(BASE_MS - 3 * DAY_MS),
    },
}

VARIANTS: Mapping[str, tuple[str, dict[str, str]]] = {
    "new_key_rotated": (
        "new_key",
        ENDS
        | {"ends": "key", "how": "Your key cs_user_9Zy8... rotated itself. The new key replaces it."}
        | {"old": "cs_user_9Zy8", "old_ends_ms": str(BASE_MS + DAY_MS)},
    ),
    "claim_code_long": ("claim_code" + LONG, FACTS["claim_code"]),
    "campaign_approved_edit": ("campaign_approved", CAMPAIGN | {"edit": "yes"}),
    "campaign_rejected_edit": ("campaign_rejected", CAMPAIGN | {"edit": "yes", "note": NOTE}),
    "submission_accepted_edit": ("submission_accepted", SUBMITTED | {"edit": "yes", "note": "Thank you."}),
    "booking_receipt_test": ("booking_receipt", BOOKED | {"mode": "test"}),
    "week_begins_pending": ("week_begins", BOOKED | {"shown": "pending"}),
    "week_begins_paused": ("week_begins", BOOKED | {"shown": "paused"}),
    "week_ended_unshown": (
        "week_ended",
        BOOKED | {"weeks": "4", "impressions": "0", "clicks": "0", "refund_cents": "4950", "unshown_weeks": "2"},
    ),
    "refund_made_share": ("refund_made", BOOKED | {"refund_cents": "4950", "weeks": "6"}),
}

HARM = (
    "<script>alert(1)</script>",
    "two\r\nBcc: eve@example.com\r\n\r\nlines",
    "\"quoted\" 'twice' & <b>",
    "\u202eevil\u2069\u200f \u05d0\u05d1\u05d2",
    "=?utf-8?q?x=0d=0aBcc=3a_eve=40example=2ecom?=",
    "[Pay now] https://evil.example\n\n- Amount: free\n\n= 000000",
    "{{ code }} {% raw %} {code} %s",
    "x" * 500,
    "\ud800 \x00 \x1b[31m \u2028",
    "Größe 🚀 日本語 " * 30,
    "",
)

NUMBERS = frozenset(
    {"week_start_ms", "weeks", "amount_cents", "hold_ms", "impressions", "clicks", "refund_cents", "unshown_weeks"}
    | {"disputed_cents", "lost_cents", "period_start_ms"}
    | {"since_ms", "count", "expires_ms", "old_ends_ms"}
)
"""Facts that rules count. Nobody else writes them."""


def message(template: str, facts: Mapping[str, str], recipient: str = "anna@example.com") -> QueuedMessage:
    end_ms = BASE_MS + (HOUR_MS if "code" in template else 3 * DAY_MS)
    queued = QueuedMessage("let_1", recipient, template, b"nonce", BASE_MS, end_ms, BASE_MS)
    return replace(queued, facts=json.dumps(dict(facts)))


def samples() -> Iterator[tuple[str, QueuedMessage]]:
    """A name and a message for each template, and for each variant."""
    yield from ((name, message(name, facts)) for name, facts in FACTS.items())
    yield from ((name, message(template, facts)) for name, (template, facts) in VARIANTS.items())


def harmed() -> Iterator[tuple[str, QueuedMessage]]:
    """Each template with each harmful text in the place of all that somebody writes."""
    for template, facts in FACTS.items():
        for text in HARM:
            kept = NUMBERS | {"ends", "target"}
            yield text, message(template, {name: value if name in kept else text for name, value in facts.items()})
