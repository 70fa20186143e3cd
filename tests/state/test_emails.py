"""The mailbox of an email address, which limits of mail are counted under."""

import pytest

from actors.shared.code_mails import mailbox_of


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
