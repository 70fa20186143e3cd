"""The sentences for what can be wrong with the fields of forms, by the codes and messages of the API. Pure.

The messages of the API continue the name of a property ("must be on one line"). A page says the same as a sentence that
tells what to do.
"""

from collections.abc import Mapping

from service.schemas.keys import NO_ADDRESS
from service.schemas.urls import URL_CHARACTERS

UNREADABLE = "This form could not be read. Reload the page, and send it again."
WRONG_ADDRESS = "Something in the address of this page is not valid. Open the page from its link."
STALE_LIST = "This part of the list is no longer there. Open the list from its first page."
ADDRESS = "Write an address such as tools.example.com."
EMAIL = "Write an email address such as you@example.com."
CODE = "Write the digits of the newest email."
CHOOSE = "Choose one of the options."
WHOLE = "Write a whole number."

BY_MESSAGE: Mapping[str, str] = {
    "must not be blank": "Write something that can be seen.",
    "must not contain invisible characters": "This has characters that cannot be seen. Write it again instead of pasting it.",
    "must not contain control characters": "This has characters that cannot be seen. Write it again instead of pasting it.",
    "must be on one line": "Write it on one line.",
    "must not begin or end with a space": "Leave out the space at the beginning or end.",
    "must have single plain spaces between words, and no other spaces": "Use one plain space between words.",
    "must have a public host name, such as example.com": ADDRESS,
    "must not contain spaces or control characters": f"An address has no spaces. {ADDRESS}",
    "must begin with http:// or https://": ADDRESS,
    "must begin with https://": "Write an address that begins with https://, not http://.",
    "must not lead to a private network": "This address is in a private network. Write a public one.",
    "must not contain backslashes": "Use / instead of \\ in the address.",
    "must not contain credentials": f"Leave out the name and password. {ADDRESS}",
    "must have a host name or an IPv4 address, not an IPv6 address": ADDRESS,
    "must have a port from 1 to 65535, or none": "Leave out the number after the colon, or use one from 1 to 65535.",
    f"must have at most {URL_CHARACTERS} characters after percent-encoding": "This address is too long. Use a shorter one.",
    "must have two hexadecimal digits after each %": "Write each % in the address as %25.",
    "must have a host name, such as example.com": ADDRESS,
    "must have a valid host name": ADDRESS,
    NO_ADDRESS: EMAIL,
    "must be a whole number": WHOLE,
    "must name each event once": "Choose each event once.",
    "is required for a rejection, with the reason": "Write why you reject it. The sponsor reads it.",
    "must have at least one field": "Nothing was changed.",
    "must be a date such as 2026-11-18, or epoch milliseconds": "Write a date such as 2026-11-18.",
}
"""By the messages that the models raise themselves."""

BY_CODE: Mapping[str, str] = {
    "literal_error": CHOOSE,
    "enum": CHOOSE,
    "list_type": CHOOSE,
    "string_type": "Write some text.",
    "bool_type": CHOOSE,
    "bool_parsing": CHOOSE,
    "int_type": WHOLE,
    "int_parsing": WHOLE,
    "int_parsing_size": "This number is too large.",
    "int_from_float": WHOLE,
    "greater_than": "Write a number above {bound}.",
    "greater_than_equal": "Write {bound} or more.",
    "less_than": "Write a number below {bound}.",
    "less_than_equal": "Write {bound} or less.",
    "too_long": "Choose at most {bound}.",
    "string_pattern_mismatch": "This has characters that cannot be used here. Leave them out.",
    "string_unicode": "This has characters that cannot be used here. Leave them out.",
    "not_week_start": "Choose one of the weeks.",
    "too_far": "This week is too far ahead. Choose an earlier one.",
    "not_in_future": "Choose a time in the future.",
    "too_expensive": "All weeks of a booking together cost too much. Lower the price or the number of weeks.",
}
"""By the codes of problems."""
