"""The contents of mails: both parts say the same, and nothing that somebody wrote becomes more than words."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from actors.clock import DAY_MS, MINUTE_MS
from actors.mail.messages import MailFailed, QueuedMessage
from actors.mail.parts import WIDTH
from actors.mail.rendering import MailRenderer
from actors.mail.template_files import TEMPLATES, parse_template
from actors.mail.words import SUBJECT_LENGTH
from actors.shared.code_mails import LONG
from service.web.pages.account.security import PLACE
from tests.mail.outgoing import BASE_MS, CODE, SITE, WRITER, link_of, stop_url_of
from tests.mail.samples import BOOKED, FACTS, harmed, message, samples

DOCUMENT = Path(__file__).parents[2] / "docs" / "mails.md"


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


def flat(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


def test_a_claim_code_names_the_key_and_says_what_it_will_be_able_to_do() -> None:
    text = flat(WRITER.write(replace(queued(), facts='{"label":"cs_anon_abcd"}')).text)
    assert "The key begins with cs_anon_abcd." in text
    assert "everything that your account can, except administration" in text
    assert "begins with (not named)" in WRITER.write(queued()).text, "of a message that the previous version queued"


def test_the_code_is_that_of_the_messages_nonce() -> None:
    writer = MailRenderer("no-reply@catalog.example", SITE, lambda nonce: f"<{nonce.decode()}>", link_of, stop_url_of)
    mail = writer.write(queued())
    assert "<nonce>" in mail.text.splitlines()
    assert ">&lt;nonce&gt;<" in mail.html


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
    assert f"https://catalog.example{PLACE}" in mail.text
    assert CODE not in mail.text
    assert "passkey" in mail.subject
    assert name not in mail.subject


def test_values_come_from_the_facts_and_no_fact_replaces_what_the_service_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(
        TEMPLATES, "told", parse_template("subject: Hello\nbecause: so\n\n{{ what }} at {{ site }}: {{ braces }}")
    )
    facts = json.dumps({"what": "Something happened", "braces": "{{ code }}", "site": "https://elsewhere.example"})
    mail = WRITER.write(replace(queued(template="told"), facts=facts))
    assert mail.text.startswith("Something happened at https://catalog.example: {{ code }}\n")


def test_an_unknown_template_fails_and_is_not_refused() -> None:
    with pytest.raises(MailFailed, match="of_tomorrow"):
        WRITER.write(queued(template="of_tomorrow"))


def test_a_message_without_a_fact_that_its_template_needs_waits_for_a_node_that_can_render_it() -> None:
    with pytest.raises(MailFailed, match="refund_cents"):
        WRITER.write(message("refund_made", BOOKED))


def test_mails_about_a_deletion_say_what_happens_and_how_to_undo_it() -> None:
    code = WRITER.write(queued(template="deletion_code"))
    assert f"\n{CODE}\n" in code.text
    assert CODE not in code.subject
    scheduled = WRITER.write(replace(queued(template="deletion_scheduled"), facts='{"day": "1 May 2027, 12:00 UTC"}'))
    assert "will be deleted on 1 May 2027, 12:00 UTC." in flat(scheduled.text)
    assert "https://catalog.example/account/delete" in scheduled.text
    for template in ("deletion_undone", "account_deleted"):
        told = WRITER.write(queued(template=template))
        assert CODE not in told.text + told.subject


# Every mail.

SAMPLES = dict(samples())


class Words(HTMLParser):
    """The visible words of a page, and the addresses of its links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._hidden += tag in ("style", "title")
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "title")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words += data.split()


def test_the_samples_have_every_template() -> None:
    assert set(FACTS) == {name for name in TEMPLATES if not name.endswith(LONG)}
    assert {name + LONG for name in FACTS} == {name for name in TEMPLATES if name.endswith(LONG)}


@pytest.mark.parametrize("name", SAMPLES)
def test_both_parts_say_the_same_and_lead_to_the_same_places(name: str) -> None:
    mail = WRITER.write(SAMPLES[name])
    page, (body, footer) = Words(mail.html), mail.text.split("\n-- \n")
    written = re.sub(r"^[>-] ", "", body, flags=re.MULTILINE).split()
    shown, _, because = " ".join(page.words).replace("Or open ", "").partition(" You get this mail because ")
    head = ["Catalog", *mail.subject.split()]
    assert [word.removesuffix(":") for word in shown.split()] == [word.removesuffix(":") for word in head + written]
    assert flat(footer).startswith(f"You get this mail because {because.partition(' Stop mails')[0]}")
    lines = {line for line in mail.text.splitlines() if re.fullmatch(r"https://catalog\.example/\S+", line)}
    assert set(page.links) == lines | {SITE}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_mail_says_why_it_came_and_keeps_its_code_out_of_the_subject(name: str) -> None:
    mail = WRITER.write(SAMPLES[name])
    assert max(len(line) for line in mail.text.splitlines() if "://" not in line) <= WIDTH
    assert "You get this mail because " in flat(mail.text)
    assert SITE in mail.text
    assert CODE not in mail.subject
    assert not re.search(r"\d{6}", mail.subject)
    assert '<html lang="en"' in mail.html


@pytest.mark.parametrize("name", SAMPLES)
def test_only_mails_with_a_topic_can_be_turned_off(name: str) -> None:
    topic = TEMPLATES[SAMPLES[name].template].topic
    mail = WRITER.write(SAMPLES[name])
    assert bool(topic) == ("Stop mails about" in mail.text) == ("Stop mails about" in mail.html) == bool(mail.stop_url)
    if topic:
        assert mail.stop_url == stop_url_of("anna@example.com", topic)
        assert mail.stop_url in mail.text.splitlines()
        assert f"{SITE}/dashboard/settings" in mail.text.splitlines()


def test_the_document_lists_every_mail_with_its_topic() -> None:
    rows = re.findall(r"^\| (none|`\w+`) \| ([^|]+) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {name: topic.strip("`") for topic, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert listed == {name: letter.topic or "none" for name, letter in TEMPLATES.items() if not name.endswith(LONG)}


def test_whatever_somebody_writes_stays_words_in_both_parts_and_in_the_subject() -> None:
    for text, sample in harmed():
        mail = WRITER.write(sample)
        case = (sample.template, text)
        plain = WRITER.write(message(sample.template, FACTS[sample.template]))
        assert Words(mail.html).tags <= Words(plain.html).tags | {"br"}, case
        assert mail.subject.isprintable() or "\u2068" in mail.subject, case
        assert len(mail.subject) <= SUBJECT_LENGTH + 1, case
        assert "=?" not in mail.subject, case
        allowed = set("\n\u2068\u2069")
        assert all(letter.isprintable() or letter in allowed for letter in mail.text), case
        assert all(letter.isprintable() or letter in allowed for letter in mail.html), case
        assert ("https://evil.example" in mail.text.splitlines()) is False, case
        assert mail.text.count(f"\n{CODE}\n") == plain.text.count(f"\n{CODE}\n"), case


def test_words_from_right_to_left_do_not_turn_the_words_around_them() -> None:
    name = "\u05d0\u05d1\u05d2 \u202eevil"
    mail = WRITER.write(message("campaign_approved", {"campaign": name, "campaign_id": "cmp_1", "edit": ""}))
    assert 'Your ad "\u2068\u05d0\u05d1\u05d2 evil\u2069" was approved.' in flat(mail.text)


OF_RELEASE_1_1: Mapping[str, set[str]] = {
    "claim_code": set(),
    "sign_in_code": set(),
    "passkey_added": {"name"},
    "passkey_removed": {"name"},
    "deletion_code": set(),
    "deletion_scheduled": {"day"},
    "deletion_undone": set(),
    "account_deleted": set(),
    "dispute_opened": {"booking", "slot", "payment"},
    "dispute_won": {"booking", "slot", "payment"},
    "dispute_lost": {"booking", "slot", "payment"},
    "new_key": {"ends", "target", "label", "how"},
    "new_session": {"ends", "target", "label"},
    "new_administrator": {"ends", "target", "label"},
}
"""The templates of release 1.1, and the facts that it wrote at least."""


@pytest.mark.parametrize("template", OF_RELEASE_1_1)
def test_a_message_that_the_last_release_queued_is_rendered(template: str) -> None:
    facts = {name: FACTS[template][name] for name in OF_RELEASE_1_1[template]}
    mail = WRITER.write(message(template, facts))
    assert all(
        fact in flat(mail.text) for name, fact in facts.items() if name in ("name", "day", "booking", "slot", "how")
    )


# Words.


def of_booking(template: str, **facts: str) -> str:
    mail = WRITER.write(message(template, {**FACTS[template], **facts}))
    return f"{mail.subject}\n{flat(mail.text)}"


def test_a_receipt_names_the_amount_and_the_weeks_in_its_subject() -> None:
    text = of_booking("booking_receipt", amount_cents="123456", weeks="2")
    assert text.startswith("Receipt: USD 1,234.56 for Left column, 24 November to 7 December\n")
    test = of_booking("booking_receipt", mode="test")
    assert test.startswith("Test receipt: ")
    assert "no money moved" in test


def test_a_year_is_named_where_it_is_not_the_year_of_the_mail() -> None:
    assert "24 November 2025 to 4 January 2026" in of_booking("booking_receipt", weeks="6")
    later = str(int(BOOKED["week_start_ms"]) + 364 * DAY_MS)
    assert "23 to 29 November 2026" in of_booking("booking_receipt", week_start_ms=later)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ("yes", "is shown from now on"),
        ("pending", "still waits for review"),
        ("rejected", "was not approved"),
        ("paused", "is paused"),
        ("disputed", "while the payment is disputed"),
        ("suspended", "your account is suspended"),
        ("draft", "Send it for review"),
    ],
)
def test_the_mail_of_a_week_that_begins_says_whether_the_ad_is_shown(shown: str, words: str) -> None:
    text = of_booking("week_begins", shown=shown)
    assert words in text
    assert ("and your ad is not shown" in text) == (shown != "yes")


@pytest.mark.parametrize(
    ("facts", "words", "no_words"),
    [
        ({"impressions": "1", "clicks": "1"}, "1 time shown, 1 click\n", "not shown in"),
        ({"impressions": "0", "clicks": "0"}, "Your report for Left column, 24 to 30 November", "Click rate"),
        ({"unshown_weeks": "1"}, "was not shown in the week.", "We refund"),
        ({"unshown_weeks": "1", "weeks": "3"}, "was not shown in 1 week of 3.", "We refund"),
        ({"unshown_weeks": "1", "refund_cents": "9900"}, "We refund USD 99.00 for the time", "of 1."),
        (
            {},
            "reported 2,468 more events that did not count: 1,200 of visitors who had been counted that day,",
            "1 more",
        ),
        ({"filtered": "1", "crawler": "1"}, "reported 1 more event that did not count:", "more events"),
        ({"filtered": "0"}, "Click rate", "did not count"),
    ],
)
def test_a_report_says_what_there_is_to_say(facts: Mapping[str, str], words: str, no_words: str) -> None:
    text = of_booking("week_ended", **facts)
    assert words in text
    assert no_words not in text


def test_a_digest_says_where_there_are_more_than_it_lists() -> None:
    assert "These are the first 10:" in of_booking("review_digest")
    one = of_booking("review_digest", count="1", ads="Example Tools: Ship it")
    assert one.startswith("1 ad waits for review\n")
    assert "These are the first" not in one


def test_a_note_that_is_not_there_leaves_no_trace() -> None:
    for template in ("campaign_rejected", "refund_declined"):
        text = of_booking(template, note="")
        assert "wrote:" not in text
        assert "> " not in text


def test_a_suspension_tells_its_reason_as_it_was_written() -> None:
    mail = WRITER.write(message("account_suspended", {"reason": "The {{ link }} leads\nto malware."}))
    assert "> The {{ link }} leads\n> to malware." in mail.text
