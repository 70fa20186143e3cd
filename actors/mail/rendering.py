"""Renders messages of the outbox as mails, and mails as internet messages. Pure.

Knows nothing of how mails travel. Only its results contain codes in clear.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, getaddresses

from actors.credentials import long_code
from actors.letters import LONG
from actors.mail.account_texts import RESTORED, SUSPENDED
from actors.mail.messages import Mail, MailFailed, MailRefused, QueuedMessage
from actors.times import MINUTE_MS, SECOND_MS

# Neither whitespace, control characters nor any that mean something in address lists, nor the beginning of an encoded word,
# which the library decodes, line ends included: no header injection.
_PLAIN_ADDRESS = re.compile(r'(?!.*=\?)[^\s\x00-\x1f\x7f"(),:;<>@\[\\\]]+@[^\s\x00-\x1f\x7f"(),:;<>@\[\\\]]+')
_MESSAGE_ID = re.compile(r"[0-9A-Za-z_]+")

_CLAIM_CODE = """\
Hello,

Somebody asked to claim an API key for this email address, at
{site}
The key begins with {label}. Once claimed, it can do
everything that your account can, except administration, and whoever made the
key keeps it. So enter the code only if you made this key yourself:

{code}

It is valid for {minutes}, until {until} UTC.

If you did not ask for this, ignore this message: nothing happens without the
code.
"""
_SIGN_IN_CODE = """\
Hello,

Somebody asked to sign in with this email address, at
{site}
This is the code:

{code}

It is valid for {minutes}, until {until} UTC, and opens one session. Nobody who
works for this service will ever ask you for it.

If you did not ask for this, ignore this message: nothing happens without the
code.
"""
_PASSKEY_ADDED = """\
Hello,

A passkey was added to your account at
{site}
Its name: {name}

From now on, signing in takes a passkey after the emailed code.

If you did not add it, somebody else is signed in to your account. Sign in,
remove the passkey and end the sessions that you do not know, all on the
dashboard. If you cannot sign in, ask the people who run this service.
"""
_PASSKEY_REMOVED = """\
Hello,

A passkey was removed from your account at
{site}
Its name: {name}

Without any passkey left, signing in takes the emailed code alone.

If you did not remove it, somebody else is signed in to your account. Sign in
and end the sessions that you do not know, on the dashboard.
"""
_DELETION_CODE = """\
Hello,

Somebody who is signed in to your account asked to delete it, at
{site}
This is the code that confirms it:

{code}

It is valid for {minutes}, until {until} UTC. After the confirmation you have
some days to change your mind.

If you did not ask for this, do not enter or pass on the code, and end the
sessions that you do not know at
{site}/dashboard
"""
_DELETION_SCHEDULED = """\
Hello,

Your account will be deleted on {day}, at
{site}
Until then it works as before. Then its keys and sessions end, and its data is
erased. Records of payments stay as long as the law requires.

To keep the account, sign in before then and choose "Keep this account" at
{site}/account/delete
"""
_DELETION_UNDONE = """\
Hello,

Your account is not going to be deleted. Somebody who is signed in to it undid
the deletion, at
{site}/account/delete
"""
_ACCOUNT_DELETED = """\
Hello,

Your account was deleted, as you asked, at
{site}
Its keys and sessions have ended, and its data is being erased. Records of
payments stay as long as the law requires. This is the last mail about it.
"""
_DISPUTE_OPENED = """\
Hello,

A payer has disputed the payment of booking {booking} ({slot})
with the bank. The payment is {payment}.

The booking keeps its weeks, but it is not shown until the dispute is closed.
Answer the dispute at the payment processor. The booking is in this list:
{site}/admin/bookings
"""
_DISPUTE_WON = """\
Hello,

The dispute about the payment of booking {booking} ({slot})
was decided in your favour. The payment is {payment}.

The booking is shown again in what is left of its weeks:
{site}/admin/bookings
"""
_DISPUTE_LOST = """\
Hello,

The dispute about the payment of booking {booking} ({slot})
was lost: the payer's bank has taken the money back. The payment is
{payment}.

The booking counts as refunded, and its weeks are free again:
{site}/admin/bookings
"""
_NEW_KEY = """\
Hello,

Your account at
{site}
has a new API key: {label}...
{how}

If this was not you, open this link and end the key. It works for 30 days, and
you need not be signed in:

{link}

Then check your account at {site}/dashboard
"""
_NEW_SESSION = """\
Hello,

Somebody signed in to your account at
{site}
on {at} UTC with this browser:

{label}

If this was not you, open this link and end the session. It works for 30 days,
and you need not be signed in:

{link}

Then check your account at {site}/dashboard
"""
_NEW_ADMINISTRATOR = """\
Hello,

You are now an administrator of
{site}

If you do not want this, open this link to give it up. It works for 30 days,
and you need not be signed in:

{link}
"""
TEMPLATES = {
    "claim_code": ("Your code to claim an API key", _CLAIM_CODE),
    "sign_in_code": ("Your code to sign in", _SIGN_IN_CODE),
    "passkey_added": ("A passkey was added to your account", _PASSKEY_ADDED),
    "passkey_removed": ("A passkey was removed from your account", _PASSKEY_REMOVED),
    "deletion_code": ("Your code to delete your account", _DELETION_CODE),
    "deletion_scheduled": ("Your account will be deleted", _DELETION_SCHEDULED),
    "deletion_undone": ("Your account is kept", _DELETION_UNDONE),
    "account_deleted": ("Your account was deleted", _ACCOUNT_DELETED),
    "dispute_opened": ("A payment is disputed", _DISPUTE_OPENED),
    "dispute_won": ("A dispute was won", _DISPUTE_WON),
    "dispute_lost": ("A dispute was lost", _DISPUTE_LOST),
    "new_key": ("A new API key on your account", _NEW_KEY),
    "new_session": ("A new sign-in to your account", _NEW_SESSION),
    "new_administrator": ("You are now an administrator", _NEW_ADMINISTRATOR),
    "account_suspended": ("Your account is suspended", SUSPENDED),
    "account_restored": ("Your account is no longer suspended", RESTORED),
}
TEMPLATES |= {name + LONG: letter for name, letter in TEMPLATES.items()}
"""Template -> subject and text. Subjects are seen on lock screens and in server logs, so they contain no code."""

UNNAMED = {"label": "(not named)"}
"""For messages that the previous version queued, which name no key."""


@dataclass(frozen=True, slots=True)
class MailRenderer:
    """Writes mails from `sender` (an address, or `Name <address>`) about the service at `site`. `code_of` derives the
    short code from a message's nonce. `link_of` makes the link that ends what a message tells of, from its facts, its
    recipient and its time. Raises ValueError if the sender is not an address."""

    sender: str
    site: str
    code_of: Callable[[bytes], str]
    link_of: Callable[[Mapping[str, str], str, int], str]

    def __post_init__(self) -> None:
        sender_address(self.sender)

    def write(self, message: QueuedMessage) -> Mail:
        """Render a message. Raises `MailRefused` if its recipient is not a plain address, and `MailFailed` for the
        template of a newer version of this program: a node of that version will send it."""
        if not _PLAIN_ADDRESS.fullmatch(message.recipient):
            raise MailRefused("the recipient is not a plain address")
        if message.template not in TEMPLATES:
            raise MailFailed(f"this node does not know the template {message.template!r}")
        subject, text = TEMPLATES[message.template]
        is_long = message.template.endswith(LONG)
        values = {
            "site": self.site,
            "code": long_code(self.code_of, message.nonce) if is_long else self.code_of(message.nonce),
            "minutes": _minutes(message.expires_ms - message.created_ms),
            "until": f"{_moment(message.expires_ms):%H:%M}",
        }
        facts: dict[str, str] = json.loads(message.facts)
        if "ends" in facts:
            values["link"] = self.link_of(facts, message.recipient, message.created_ms)
            values["at"] = f"{_moment(message.created_ms):%Y-%m-%d at %H:%M}"
        return Mail(
            message_id=message.id,
            sender=self.sender,
            recipient=message.recipient,
            subject=subject,
            text=text.format_map(UNNAMED | facts | values),
            created_ms=message.created_ms,
        )


def as_message(mail: Mail) -> EmailMessage:
    """The mail as an internet message. A retry has the same Message-ID, so that duplicates can be recognised."""
    assert _PLAIN_ADDRESS.fullmatch(mail.recipient), "only plain addresses are rendered"
    assert _MESSAGE_ID.fullmatch(mail.message_id), f"not a message id: {mail.message_id!r}"
    sender = sender_address(mail.sender)
    message = EmailMessage()
    message["From"] = sender
    message["To"] = _address(mail.recipient)
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(_moment(mail.created_ms))
    message["Message-ID"] = f"<{mail.message_id}@{sender.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    return message


def sender_address(text: str) -> Address:
    """The configured sender. Raises ValueError unless it is `address` or `Name <address>` in ASCII."""
    match getaddresses([text]):
        case [(name, address)] if text.isascii() and text.isprintable() and _PLAIN_ADDRESS.fullmatch(address):
            return _address(address, name)
    raise ValueError(f"mail.sender must be an address or `Name <address>` in ASCII, not {text!r}")


def _address(plain: str, name: str = "") -> Address:
    username, _, domain = plain.rpartition("@")
    return Address(name, username, domain)


def _minutes(life_ms: int) -> str:
    minutes = max(1, life_ms // MINUTE_MS)
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms // SECOND_MS, UTC)
