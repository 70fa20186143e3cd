"""Mails as internet messages: headers and MIME parts. Pure."""

import re
from datetime import UTC, datetime
from email.header import Header
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime, getaddresses
from typing import Any

from actors.mail.messages import Mail
from actors.times import SECOND_MS

# Neither whitespace, control characters nor any that mean something in address lists, nor the beginning of an encoded word,
# which the library decodes, line ends included: no header injection.
PLAIN_ADDRESS = re.compile(r'(?!.*=\?)[^\s\x00-\x1f\x7f"(),:;<>@\[\\\]]+@[^\s\x00-\x1f\x7f"(),:;<>@\[\\\]]+')
_MESSAGE_ID = re.compile(r"[0-9A-Za-z_]+")
_FROM = re.compile(r"^From ", re.MULTILINE)
_URL = re.compile(r"https?://[!-;=?-~]+")


class _Whole(UnstructuredHeader, BaseHeader):
    """A header that is on one line if it is ASCII, and encoded as a whole if it is not. The library's own folding encodes
    words that are longer than a line, such as addresses, which nobody decodes, and loses blanks between encoded words."""

    def fold(self, *, policy: Any) -> str:
        encoded = Header(str(self), "utf-8", header_name=self.name).encode(linesep=policy.linesep)
        return f"{self.name}: {self if self.isascii() else encoded}{policy.linesep}"


_REGISTRY = HeaderRegistry()
_REGISTRY.map_to_type("subject", _Whole)
_REGISTRY.map_to_type("list-unsubscribe", _Whole)
_POLICY = EmailPolicy(header_factory=_REGISTRY)


def as_message(mail: Mail) -> EmailMessage:
    """The mail as an internet message of two parts. A retry is the same message with the same Message-ID, so that duplicates
    can be recognised. Lines are ASCII and short, whatever the mail says, so that every server takes them."""
    assert PLAIN_ADDRESS.fullmatch(mail.recipient), "only plain addresses are rendered"
    assert _MESSAGE_ID.fullmatch(mail.message_id), f"not a message id: {mail.message_id!r}"
    sender = sender_address(mail.sender)
    message = EmailMessage(_POLICY)
    message["From"] = sender
    message["To"] = _address(mail.recipient)
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(datetime.fromtimestamp(mail.created_ms // SECOND_MS, UTC))
    message["Message-ID"] = f"<{mail.message_id}@{sender.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    if mail.stop_url:
        assert _URL.fullmatch(mail.stop_url), f"not an address for a header: {mail.stop_url!r}"
        message["List-Unsubscribe"] = f"<{mail.stop_url}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(mail.text, cte="quoted-printable")
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    for part in message.iter_parts():
        # Servers and Python's own client put a mark before a line that begins with this word (RFC 4155).
        part.set_payload(_FROM.sub("=46rom ", str(part.get_payload())))
    # No line of quoted-printable holds this. A random boundary would make each retry another message.
    message.set_boundary(f"=_{mail.message_id}")
    return message


def sender_address(text: str) -> Address:
    """The configured sender. Raises ValueError unless it is `address` or `Name <address>` in ASCII."""
    match getaddresses([text]):
        case [(name, address)] if text.isascii() and text.isprintable() and PLAIN_ADDRESS.fullmatch(address):
            return _address(address, name)
    raise ValueError(f"mail.sender must be an address or `Name <address>` in ASCII, not {text!r}")


def _address(plain: str, name: str = "") -> Address:
    username, _, domain = plain.rpartition("@")
    return Address(name, username, domain)
