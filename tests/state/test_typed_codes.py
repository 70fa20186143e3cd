"""Codes as people type and paste them: one rule for mailed codes and the codes of devices."""

import pytest

from actors.devices.codes import read_code, user_code_of
from actors.shared.codes import emailed_code, read_typed
from actors.values import Code, Refused

WAYS = {
    "as it is": "123456",
    "in two halves": "123 456",
    "with a hyphen": "123-456",
    "with a non-breaking hyphen": "123\u2011456",
    "with a dash": "123\u2013456",
    "with a minus sign": "123\u2212456",
    "with a no-break space": "123\u00a0456",
    "with a narrow no-break space": "123\u202f456",
    "with an ideographic space": "123\u3000456",
    "with a zero-width space": "123\u200b456",
    "with a byte order mark": "\ufeff123456",
    "with marks of direction": "\u200e\u2066123456\u2069",
    "with a soft hyphen": "123\u00ad456",
    "with a line break": "\n123\r\n456\t",
    "in full width": "\uff11\uff12\uff13\uff14\uff15\uff16",
    "in Arabic digits": "\u0661\u0662\u0663\u0664\u0665\u0666",
    "in Persian digits": "\u06f1\u06f2\u06f3\u06f4\u06f5\u06f6",
    "in Devanagari digits": "\u0967\u0968\u0969\u096a\u096b\u096c",
    "in bold digits": "".join(chr(0x1D7CE + digit) for digit in range(1, 7)),
    "in digits of keys": "".join(f"{digit}\ufe0f\u20e3" for digit in range(1, 7)),
}
MALFORMED = ("12345", "1234567", "12345678901", "1234567890123", "abcdef", "12345a", "", " ", "--", "123.456", "0x1234")


@pytest.mark.parametrize("way", WAYS)
def test_a_mailed_code_is_read_however_it_is_written(way: str) -> None:
    assert read_typed(WAYS[way]) == emailed_code(WAYS[way]) == "123456"
    assert emailed_code(WAYS[way] + WAYS[way]) == "123456123456"


@pytest.mark.parametrize("typed", MALFORMED)
def test_what_can_be_no_mailed_code_is_refused(typed: str) -> None:
    refused = emailed_code(typed)
    assert isinstance(refused, Refused)
    assert refused.code is Code.INVALID_CODE
    assert refused.message == "This is not a code of ours. Write the 6 or 12 digits of the mail."


@pytest.mark.parametrize(
    "typed", ["\uff37\uff24\uff2a\uff22-mjht", "WDJB\u2011MJHT", "wdjb\u200b mjht", " WDJB\u00a0MJHT\n"]
)
def test_a_code_of_a_device_is_read_by_the_same_rule(typed: str) -> None:
    assert read_code(typed) == user_code_of(typed) == "WDJBMJHT"


@pytest.mark.parametrize("typed", ["WDJB", "WDJBMJHTT", "", "1234-5678"])
def test_what_can_be_no_code_of_a_device_is_refused(typed: str) -> None:
    words = "This is not a code of a device. It has 8 letters, such as WDJB-MJHT."
    assert user_code_of(typed) == Refused(Code.INVALID_CODE, words)
