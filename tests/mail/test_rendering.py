"""The contents of mails, and that nothing in them can inject a header."""

import email
import email.policy
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.clock import MINUTE_MS
from actors.mail.messages import Mail, MailFailed, MailRefused, QueuedMessage
from actors.mail.rendering import TEMPLATES, MailRenderer, as_message, sender_address
from tests.mail.office import BASE_MS, CODE, WRITER, link_of


def queued(
    recipient: str = "anna@example.com", template: str = "claim_code", life_ms: int = 10 * MINUTE_MS
) -> QueuedMessage:
    return QueuedMessage("let_1", recipient, template, b"nonce", BASE_MS, BASE_MS + life_ms, BASE_MS)


def test_a_claim_code_stands_on_a_line_of_its_own_and_not_in_the_subject() -> None:
    mail = WRITER.write(queued())
    assert CODE in mail.text.splitlines()
    assert CODE not in mail.subject
    assert "https://catalog.example" in mail.text
    assert "ignore this message" in mail.text


def test_a_claim_code_names_the_key_and_says_what_it_will_be_able_to_do() -> None:
    text = WRITER.write(replace(queued(), facts='{"label":"cs_anon_abcd"}')).text
    assert "The key begins with cs_anon_abcd." in text
    assert "everything that your account can, except administration" in text
    assert "begins with (not named)" in WRITER.write(queued()).text, "of a message that the previous version queued"


def test_the_code_is_that_of_the_messages_nonce() -> None:
    writer = MailRenderer(
        "no-reply@catalog.example", "https://catalog.example", lambda nonce: f"<{nonce.decode()}>", link_of
    )
    assert "<nonce>" in writer.write(queued()).text.splitlines()


@pytest.mark.parametrize(
    ("life_ms", "words"),
    [(10 * MINUTE_MS, "10 minutes, until 12:10 UTC"), (MINUTE_MS, "1 minute, until 12:01 UTC")],
)
def test_the_life_of_the_code_is_the_messages(life_ms: int, words: str) -> None:
    assert f"It is valid for {words}." in WRITER.write(queued(life_ms=life_ms)).text


def test_the_repr_of_a_mail_holds_no_code_and_that_of_a_message_no_nonce() -> None:
    assert CODE not in repr(WRITER.write(queued()))
    assert "nonce" not in repr(queued())


def test_a_mail_for_signing_in_says_so_and_holds_its_code_on_a_line() -> None:
    mail = WRITER.write(queued(template="sign_in_code"))
    assert mail.subject == "Your code to sign in"
    assert f"\n{CODE}\n" in mail.text
    assert "sign in" in mail.text
    assert CODE not in mail.subject


@pytest.mark.parametrize("template", ["passkey_added", "passkey_removed"])
def test_a_mail_about_a_passkey_names_it_and_says_what_to_do(template: str) -> None:
    name = "Laptop {code} %s"
    mail = WRITER.write(replace(queued(template=template), facts=json.dumps({"name": name})))
    assert f"Its name: {name}" in mail.text
    assert "https://catalog.example" in mail.text
    assert "dashboard" in mail.text
    assert CODE not in mail.text
    assert "passkey" in mail.subject
    assert name not in mail.subject


def test_a_text_takes_its_values_from_the_facts_of_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TEMPLATES, "told", ("What happened", "{what} at {site}: {braces}"))
    facts = json.dumps({"what": "Something happened", "braces": "{code}", "site": "https://elsewhere.example"})
    mail = WRITER.write(replace(queued(template="told"), facts=facts))
    assert mail.text == "Something happened at https://catalog.example: {code}"


def test_an_unknown_template_fails_and_is_not_refused() -> None:
    with pytest.raises(MailFailed, match="of_tomorrow"):
        WRITER.write(queued(template="of_tomorrow"))


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


@given(
    st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=9).map(lambda some: "".join(some) + "@a.example")
)
def test_whatever_the_recipient_there_is_one_and_no_other_header(recipient: str) -> None:
    try:
        mail = WRITER.write(queued(recipient))
    except MailRefused:
        return
    message = as_message(mail)
    again = email.message_from_bytes(message.as_bytes(policy=email.policy.SMTPUTF8), policy=email.policy.default)
    assert sorted(again.keys()) == sorted(message.keys())
    assert again["To"] == recipient
    assert len(message["To"].addresses) == 1


@pytest.mark.parametrize("field", ["subject", "sender"])
def test_a_line_break_in_a_header_is_an_error(field: str) -> None:
    words = {"subject": "Hello", "sender": "no-reply@catalog.example", field: "x@example.com\r\nBcc: eve@example.com"}
    mail = Mail("let_1", words["sender"], "anna@example.com", words["subject"], "text", BASE_MS)
    with pytest.raises(ValueError, match=r"linefeed|ASCII"):
        as_message(mail)


def test_the_message_has_the_headers_that_a_machines_message_should_have() -> None:
    message = as_message(WRITER.write(queued()))
    assert dict(message.items()) == {
        "From": "Catalog <no-reply@catalog.example>",
        "To": "anna@example.com",
        "Subject": "Your code to claim an API key",
        "Date": "Thu, 20 Nov 2025 12:00:00 +0000",
        "Message-ID": "<let_1@catalog.example>",
        "Auto-Submitted": "auto-generated",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": "7bit",
        "MIME-Version": "1.0",
    }


def test_a_repeat_of_a_mail_is_the_same_message() -> None:
    assert as_message(WRITER.write(queued())).as_bytes() == as_message(WRITER.write(queued())).as_bytes()


@pytest.mark.parametrize("text", ["no-reply@catalog.example", "Catalog <no-reply@catalog.example>"])
def test_a_sender_is_an_address_with_or_without_a_name(text: str) -> None:
    assert sender_address(text).addr_spec == "no-reply@catalog.example"


@pytest.mark.parametrize("text", ["", "catalog", "a@b, c@d", "Catalog <>", "katalög@example.com", "a@b\r\nBcc: c@d"])
def test_any_other_sender_is_a_clear_error_at_start(text: str) -> None:
    with pytest.raises(ValueError, match=r"mail\.sender must be"):
        MailRenderer(text, "https://catalog.example", lambda nonce: CODE, link_of)


def test_mails_about_a_deletion_say_what_happens_and_how_to_undo_it() -> None:
    code = WRITER.write(queued(template="deletion_code"))
    assert f"\n{CODE}\n" in code.text
    assert CODE not in code.subject
    scheduled = WRITER.write(replace(queued(template="deletion_scheduled"), facts='{"day": "1 May 2027, 12:00 UTC"}'))
    assert "will be deleted on 1 May 2027, 12:00 UTC, at" in scheduled.text
    assert "https://catalog.example/account/delete" in scheduled.text
    for template in ("deletion_undone", "account_deleted"):
        told = WRITER.write(queued(template=template))
        assert CODE not in told.text + told.subject


def test_a_suspension_tells_its_reason_as_it_was_written() -> None:
    facts = json.dumps({"reason": "The {link} leads\nto malware."})
    mail = WRITER.write(replace(queued(template="account_suspended"), facts=facts))
    assert mail.subject == "Your account is suspended"
    assert "The {link} leads\nto malware." in mail.text
    assert "https://catalog.example" in mail.text
    restored = WRITER.write(queued(template="account_restored"))
    assert restored.subject == "Your account is no longer suspended"
    assert "Your keys work again" in restored.text
