"""User codes: made from entropy, displayed, and parsed from what people type (RFC 8628, 6.1). Pure."""

from actors.shared.codes import read_typed
from actors.values import Code, Refused

ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that codes spell no words, and no Y."""

LENGTH = 8
USER_CODE_BYTES = 16
"""Random bytes of one code: 128 bits reduced to 34.6, so the bias is below 2**-93."""

_ALPHABET_ANY_CASE = frozenset(ALPHABET + ALPHABET.lower())


def user_code_from(entropy: bytes) -> str:
    """A uniformly distributed code of 8 letters, from `USER_CODE_BYTES` random bytes."""
    assert len(entropy) >= USER_CODE_BYTES, "too little entropy"
    number, letters = int.from_bytes(entropy), []
    for _ in range(LENGTH):
        number, place = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[place])
    return "".join(letters)


def format_code(user_code: str) -> str:
    """The code as displayed: `WDJB-MJHT`."""
    return f"{user_code[: LENGTH // 2]}-{user_code[LENGTH // 2 :]}"


def read_code(typed: str) -> str:
    """The code in typed text: upper case, without characters that codes do not use."""
    return "".join(letter for letter in read_typed(typed) if letter in _ALPHABET_ANY_CASE).upper()


def user_code_of(typed: str) -> str | Refused:
    """The code in typed text. Refused if it is not complete, which costs no guess."""
    code = read_code(typed)
    if len(code) == LENGTH:
        return code
    return Refused(Code.INVALID_CODE, f"This is not a code of a device. It has {LENGTH} letters, such as WDJB-MJHT.")
