"""Key texts, claim tokens and codes: their shapes, the checksum, and what a proof binds."""

import random
import re
import zlib
from collections import Counter
from functools import partial

import pytest

from actors.shared.credentials import (
    ALPHABET,
    CLAIM_TOKEN,
    ENTROPY_BYTES,
    Kind,
    base62,
    code_from,
    code_proof,
    constant_time_equal,
    digest,
    is_key,
    long_code,
    new_id,
    new_key,
    prefix_of,
    renewed_key,
)
from tests.fakes import SeededEntropy


def fresh(kind: Kind = Kind.ANONYMOUS, seed: int = 1) -> str:
    return new_key(kind, SeededEntropy(seed).token(ENTROPY_BYTES))


@pytest.mark.parametrize("kind", Kind)
def test_a_key_has_the_shape_that_was_decided(kind: Kind) -> None:
    assert re.fullmatch(rf"cs_{kind}_[0-9A-Za-z]{{32}}_[0-9A-Za-z]{{6}}", fresh(kind))


def test_the_kinds_are_anon_user_and_scoped() -> None:
    assert list(Kind) == ["anon", "user", "scoped"]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("seed", range(50))
def test_a_fresh_key_is_a_key(kind: Kind, seed: int) -> None:
    assert is_key(fresh(kind, seed))


def test_a_key_is_made_of_its_entropy_alone() -> None:
    assert fresh(seed=1) == fresh(seed=1) == "cs_anon_RdOdqIhxkSLyCgLsUkxY2BQMKKVQUgCO_3vbHAU"
    assert len({fresh(seed=seed) for seed in range(500)}) == 500


def test_the_checksum_is_the_crc32_in_base62_most_significant_digit_first() -> None:
    body, _, checksum = fresh().rpartition("_")
    number = 0
    for digit in checksum:
        number = number * 62 + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".index(digit)
    assert number == zlib.crc32(body.encode())


@pytest.mark.parametrize("kind", Kind)
def test_the_checksum_finds_every_change_of_one_character(kind: Kind) -> None:
    key = fresh(kind)
    for place, was in enumerate(key):
        for other in ALPHABET + "_-":
            if other != was:
                assert not is_key(key[:place] + other + key[place + 1 :])


def test_the_checksum_finds_every_swap_of_neighbours() -> None:
    key = fresh()
    for place in range(len(key) - 1):
        swapped = key[:place] + key[place + 1] + key[place] + key[place + 2 :]
        assert swapped == key or not is_key(swapped)


def test_the_checksum_covers_the_kind() -> None:
    assert not is_key(fresh(Kind.USER).replace("cs_user_", "cs_anon_"))


@pytest.mark.parametrize(
    "text",
    ["", "cs_anon_", fresh() + "\n", fresh() + "0", " " + fresh(), fresh()[1:], fresh().upper(), "é" * 47, "\x00" * 47],
)
def test_what_is_no_key_is_not_taken_for_one(text: str) -> None:
    assert not is_key(text)


def test_digits_of_other_scripts_are_no_digits() -> None:
    assert not is_key("cs_anon_" + "٣" * 32 + "_" + "0" * 6)


def test_the_displayed_prefix_ends_with_the_fourth_random_character() -> None:
    assert prefix_of("cs_anon_abcdEFGHijklMNOPqrstUVWXyz012345_000000") == "cs_anon_abcd"
    assert prefix_of("cs_scoped_abcdEFGHijklMNOPqrstUVWXyz012345_000000") == "cs_scoped_abcd"


def test_a_claim_token_has_the_shape_that_was_decided() -> None:
    token = CLAIM_TOKEN.new(SeededEntropy().token(ENTROPY_BYTES))
    assert re.fullmatch(r"clm_[0-9A-Za-z]{32}", token)
    assert CLAIM_TOKEN.matches(token)


@pytest.mark.parametrize(
    "text",
    ["", "clm_", "a" * 32, "clm_" + "a" * 31, "clm_" + "a" * 33, "a" * 36, "clm_" + "a" * 32 + "\n", fresh()],
)
def test_what_is_no_claim_token_is_not_taken_for_one(text: str) -> None:
    assert not CLAIM_TOKEN.matches(text)


@pytest.mark.parametrize("make", [lambda entropy: new_key(Kind.USER, entropy), CLAIM_TOKEN.new])
def test_too_little_entropy_is_a_mistake(make: object) -> None:
    with pytest.raises(AssertionError, match="too little entropy"):
        make(bytes(ENTROPY_BYTES - 1))  # type: ignore[operator]


def test_all_of_the_entropy_counts() -> None:
    entropy = SeededEntropy().token(ENTROPY_BYTES)
    keys = {new_key(Kind.USER, entropy[:n] + bytes([entropy[n] ^ 1]) + entropy[n + 1 :]) for n in range(ENTROPY_BYTES)}
    assert len(keys) == ENTROPY_BYTES


def test_an_id_names_what_it_is_of_and_has_22_digits() -> None:
    assert re.fullmatch(r"ten_[0-9A-Za-z]{22}", new_id("ten", SeededEntropy().token(16)))
    assert new_id("ten", bytes(16)) == "ten_" + "0" * 22
    assert new_id("ten", b"\xff" * 16) == "ten_7n42DGM5Tflk9n8mt7Fhc7"


@pytest.mark.parametrize(
    ("number", "length", "text"),
    [(0, 3, "000"), (61, 3, "00z"), (62, 3, "010"), (62**3 - 1, 3, "zzz"), (62**3, 3, "000")],
)
def test_base62_has_a_fixed_length(number: int, length: int, text: str) -> None:
    assert base62(number, length) == text


# Codes.


def test_a_code_is_six_digits_and_the_same_each_time() -> None:
    assert code_from(b"secret", b"nonce") == code_from(b"secret", b"nonce") == "300899"


def test_a_long_code_is_twelve_digits_and_the_same_after_an_update() -> None:
    """A queued mail has the nonce only."""
    assert long_code(partial(code_from, b"secret"), b"nonce") == "300899623050"


def test_a_code_depends_on_the_secret_and_the_nonce() -> None:
    codes = {code_from(b"secret", b"nonce"), code_from(b"other", b"nonce"), code_from(b"secret", b"other")}
    assert len(codes) == 3


def test_codes_keep_their_leading_zeros_and_are_spread_evenly() -> None:
    nonces = random.Random(1)
    codes = [code_from(b"secret", nonces.randbytes(16)) for _ in range(20_000)]
    assert all(re.fullmatch(r"[0-9]{6}", code) for code in codes)
    for place in range(6):
        counts = Counter(code[place] for code in codes)
        assert all(1_800 < counts[digit] < 2_200 for digit in "0123456789")


def test_a_proof_is_bound_to_each_of_its_inputs() -> None:
    subject, other_subject = digest("clm_1"), digest("clm_2")
    proofs = {
        code_proof(b"secret", subject, "a@example.org", "000000"),
        code_proof(b"other", subject, "a@example.org", "000000"),
        code_proof(b"secret", other_subject, "a@example.org", "000000"),
        code_proof(b"secret", subject, "b@example.org", "000000"),
        code_proof(b"secret", subject, "a@example.org", "000001"),
    }
    assert len(proofs) == 5


def test_a_proof_is_the_same_on_every_node_and_after_an_update() -> None:
    proof = "34eaa8a90d07e6799e6f1d7e85c8a7f9f79d8ce54d031a0e325f19c58956b14d"
    assert code_proof(b"s" * 32, b"subject", "ann@example.com", "042137").hex() == proof


def test_in_a_proof_email_and_code_cannot_run_into_each_other() -> None:
    subject = digest("clm_1")
    assert code_proof(b"secret", subject, "a1", "23456") != code_proof(b"secret", subject, "a", "123456")


def test_a_proof_and_a_code_of_the_same_secret_have_nothing_in_common() -> None:
    assert code_from(b"secret", b"") not in code_proof(b"secret", b"", "", "").hex()
    assert len(code_proof(b"secret", b"", "", "")) == 32


def test_a_digest_is_sha_256() -> None:
    assert digest("").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_same_compares_bytes() -> None:
    assert constant_time_equal(b"abc", b"abc")
    assert not constant_time_equal(b"abc", b"abd")
    assert not constant_time_equal(b"", b"abc")


def test_the_texts_that_a_key_gets_one_after_another_share_its_prefix_and_nothing_else() -> None:
    entropy = SeededEntropy(1)
    shown = entropy.token(ENTROPY_BYTES)
    texts = [renewed_key(shown, entropy.token(ENTROPY_BYTES)) for _ in range(50)]
    assert all(is_key(text) and text.startswith("cs_scoped_") for text in texts)
    assert {prefix_of(text) for text in texts} == {prefix_of(new_key(Kind.SCOPED, shown))}
    hidden = [text.removeprefix(prefix_of(text))[:28] for text in texts]
    assert all(len(set(digits)) > 10 for digits in zip(*hidden, strict=True)), "no other digit is shared"
