"""Mails as internet messages: nothing in them can inject a header, and every server can take them."""

import email
import email.policy
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.mail.internet import as_message, sender_address
from actors.mail.messages import Mail, MailRefused, QueuedMessage
from actors.mail.rendering import MailRenderer
from tests.mail.outgoing import BASE_MS, CODE, SITE, WRITER, link_of, stop_url_of
from tests.mail.samples import BOOKED, FACTS, harmed, message
from tests.slow import repeats


def queued(recipient: str = "anna@example.com") -> QueuedMessage:
    return message("claim_code", FACTS["claim_code"], recipient)


def received(mail: Mail) -> EmailMessage:
    """The message as a mail program reads it."""
    sent = as_message(mail).as_bytes(policy=email.policy.SMTP)
    assert sent.isascii()
    assert max(map(len, sent.split(b"\r\n"))) <= 998, "RFC 5321, 4.5.3.1.6"
    return email.message_from_bytes(sent, policy=email.policy.default)


def body(read: EmailMessage, kind: str) -> str:
    part = read.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


steady = settings(derandomize=True, database=None, deadline=None)


@pytest.mark.parametrize(
    "recipient",
    [
        "anna@example.com\r\nBcc: eve@example.com",
        "anna@example.com, eve@example.com",
        "Eve <eve@example.com>",
        "anna",
        "@example.com",
        "anna@",
        "a@b@c",
        "an na@example.com",
        "anna@example.com\x00",
        "=?utf-8?q?x=0d=0asubject=3a_pay_now=0d=0a=0d=0ahello_?=@example.com",
        "=?utf-8?q?eve=40example.com=2c?=@example.com",
        "=?utf-8?q?=40._?==22@example.com",
        "",
    ],
)
def test_a_recipient_that_is_not_one_plain_address_is_refused(recipient: str) -> None:
    with pytest.raises(MailRefused):
        WRITER.write(queued(recipient))


PIECES = ["=?", "utf-8", "?q?", "?b?", "=0d=0a", "=40", "DQo", "bcc=3ax", "_", "?=", "=", "a", ".", "+"]


@steady
@given(
    st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=9).map(lambda some: "".join(some) + "@a.example")
)
def test_whatever_the_recipient_there_is_one_and_no_other_header(recipient: str) -> None:
    try:
        mail = WRITER.write(queued(recipient))
    except MailRefused:
        return
    made = as_message(mail)
    again = email.message_from_bytes(made.as_bytes(policy=email.policy.SMTPUTF8), policy=email.policy.default)
    assert sorted(again.keys()) == sorted(made.keys())
    assert again["To"] == recipient
    assert len(made["To"].addresses) == 1


@pytest.mark.parametrize("field", ["subject", "sender"])
def test_a_line_break_in_a_header_is_an_error(field: str) -> None:
    words = {"subject": "Hello", "sender": "no-reply@catalog.example", field: "x@example.com\r\nBcc: eve@example.com"}
    mail = Mail("let_1", words["sender"], "anna@example.com", words["subject"], "text", BASE_MS, "<p>text</p>")
    with pytest.raises(ValueError, match=r"linefeed|ASCII"):
        as_message(mail)


def test_the_message_has_the_headers_that_a_machines_message_should_have() -> None:
    assert dict(as_message(WRITER.write(queued())).items()) == {
        "From": "Catalog <no-reply@catalog.example>",
        "To": "anna@example.com",
        "Subject": "Your code to claim an API key",
        "Date": "Thu, 20 Nov 2025 12:00:00 +0000",
        "Message-ID": "<let_1@catalog.example>",
        "Auto-Submitted": "auto-generated",
        "Content-Type": 'multipart/alternative; boundary="=_let_1"',
        "MIME-Version": "1.0",
    }


def test_a_mail_with_a_topic_can_be_stopped_by_the_mail_program() -> None:
    url = f"{SITE}/unsubscribe/lnk_{'x' * 600}"
    writer = MailRenderer("no-reply@catalog.example", SITE, lambda nonce: CODE, link_of, lambda *_: url)
    mail = writer.write(message("week_begins", FACTS["week_begins"]))
    read = received(mail)
    assert read["List-Unsubscribe"] == f"<{url}>"
    assert read["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert f"List-Unsubscribe: <{url}>\r\n".encode() in as_message(mail).as_bytes(policy=email.policy.SMTP)
    assert received(WRITER.write(queued()))["List-Unsubscribe"] is None


@repeats("tests/mail/test_rendering.py, for the parts before they become a message")
def test_both_parts_are_read_as_they_were_written_whatever_they_say() -> None:
    for text, sample in harmed():
        mail = WRITER.write(sample)
        read = received(mail)
        case = (sample.template, text)
        assert [part.get_content_type() for part in read.iter_parts()] == ["text/plain", "text/html"], case
        assert body(read, "plain") == mail.text, case
        assert body(read, "html") == mail.html + "\n", case
        assert read["Subject"] == mail.subject, case
        assert read["To"] == "anna@example.com", case
        assert read["Bcc"] is None, case
        assert read.defects == [], case
        assert [part.defects for part in read.iter_parts()] == [[], []], case


@steady
@given(st.text(max_size=400))
def test_no_name_of_an_ad_or_a_slot_adds_a_header_or_a_part(name: str) -> None:
    mail = WRITER.write(message("booking_reserved", BOOKED | {"slot": name, "campaign": name, "hold_ms": str(BASE_MS)}))
    read = received(mail)
    assert sorted(read.keys()) == sorted(as_message(mail).keys())
    assert read["Subject"] == mail.subject
    assert body(read, "plain") == mail.text
    assert body(read, "html") == mail.html + "\n"


def test_a_repeat_of_a_mail_is_the_same_message() -> None:
    assert as_message(WRITER.write(queued())).as_bytes() == as_message(WRITER.write(queued())).as_bytes()


@pytest.mark.parametrize("text", ["no-reply@catalog.example", "Catalog <no-reply@catalog.example>"])
def test_a_sender_is_an_address_with_or_without_a_name(text: str) -> None:
    assert sender_address(text).addr_spec == "no-reply@catalog.example"


@pytest.mark.parametrize("text", ["", "catalog", "a@b, c@d", "Catalog <>", "katalög@example.com", "a@b\r\nBcc: c@d"])
def test_any_other_sender_is_a_clear_error_at_start(text: str) -> None:
    with pytest.raises(ValueError, match=r"mail\.sender must be"):
        MailRenderer(text, SITE, lambda nonce: CODE, link_of, stop_url_of)
