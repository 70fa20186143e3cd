"""The mailbox of an email address, which limits of mail are counted under, and the rows that count them."""

from functools import partial

import pytest

from actors.shared.code_mails import Draft, Origin, count_id, mailbox_of
from actors.shared.codes import Sendings, send
from actors.shared.credentials import code_from, code_proof, long_code
from actors.times import DAY_MS
from actors.values import OutboxMessage


@pytest.mark.parametrize(
    ("email", "mailbox"),
    [
        ("ann@example.com", "ann@example.com"),
        ("ann+x@example.com", "ann@example.com"),
        ("ann+x+y@example.com", "ann@example.com"),
        ("ann+@example.com", "ann@example.com"),
        ("a.nn@example.com", "a.nn@example.com"),
        ("+ann@example.com", "+ann@example.com"),
        ("ann@exa+mple.com", "ann@exa+mple.com"),
        ("not an address", "not an address"),
        ("", ""),
    ],
)
def test_a_tag_is_not_part_of_the_mailbox(email: str, mailbox: str) -> None:
    assert mailbox_of(email) == mailbox
    assert mailbox_of(mailbox) == mailbox


SECRET, EMAIL, KIND = b"s" * 32, "ann+news@example.com", "sign_in_code"


@pytest.mark.parametrize(
    ("network", "row"),
    [
        ("", "a4622ecaed1062cbe15ec052758db12458604ab62aafb7d1de1a6591772b525a"),
        ("192.0.2.1", "291c8006a8453e0a6261f6b269b7885e392d8358494c68e1b7d8450b12206780"),
    ],
)
def test_the_row_of_a_count_is_the_same_on_every_node_and_after_an_update(network: str, row: str) -> None:
    assert count_id(SECRET, KIND, EMAIL, network).hex() == row
    assert count_id(SECRET, KIND, "ann@example.com", *filter(None, [network])).hex() == row


def test_a_draft_names_the_rows_that_count_it_and_has_a_proof_of_each_code() -> None:
    message = OutboxMessage("msg_1", EMAIL, KIND, b"nonce", 0, 1)
    draft = Draft.of(SECRET, b"subject", message, Origin("2001:db8::/64", "2001:db8::/48"))
    places = ("2001:db8::/64", "2001:db8::/48", "")
    assert draft.count_ids == tuple(count_id(SECRET, KIND, EMAIL, place) for place in places)
    short = partial(code_from, SECRET)
    codes = short(b"nonce"), long_code(short, b"nonce")
    assert (draft.proof, draft.long_proof) == tuple(code_proof(SECRET, b"subject", EMAIL, code) for code in codes)
    assert draft.with_long_code().proof == draft.long_proof


def test_without_a_pause_a_node_whose_clock_is_ahead_holds_up_no_other() -> None:
    now_ms = 20_000 * DAY_MS
    ahead = Sendings(sent_ms=now_ms + 5_000, sent_day=20_000, sent_today=1)
    counted = Sendings(sent_ms=now_ms, sent_day=20_000, sent_today=2)
    assert send(ahead, now_ms, "to you", pause_ms=0, per_day=5) == counted
