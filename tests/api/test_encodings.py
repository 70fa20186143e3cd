"""Accept-Encoding and the ETags of encoded bodies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.api.encodings import BR, GZIP, IDENTITY, MAX_CHARACTERS, acceptable, known_tag, tag_in

TAG = '"abc"'

HEADERS: dict[str | None, tuple[str, ...]] = {
    None: (IDENTITY, BR, GZIP),
    "": (IDENTITY,),
    "gzip": (GZIP, IDENTITY),
    "gzip, deflate, br, zstd": (BR, GZIP, IDENTITY),
    "deflate, gzip;q=1.0, *;q=0.5": (GZIP, BR, IDENTITY),
    "br;q=0.5, gzip;q=0.8": (GZIP, BR, IDENTITY),
    "gzip;q=0.8,br;q=0.8": (BR, GZIP, IDENTITY),
    "identity, gzip;q=0.5": (IDENTITY, GZIP),
    "gzip, identity": (GZIP, IDENTITY),
    "identity;q=0.5, gzip;q=0.4": (IDENTITY, GZIP),
    "*": (BR, GZIP, IDENTITY),
    "*;q=0": (),
    "identity;q=0": (),
    "br;q=0, *;q=0.001": (GZIP, IDENTITY),
    "gzip, *;q=0": (GZIP,),
    "gzip;q=0, identity;q=0, br": (BR,),
    "identity;q=0.0, gzip;q=0.000": (),
    "GZip ; Q=0.5 , BR;q=0.4": (GZIP, BR, IDENTITY),
    "x-gzip": (GZIP, IDENTITY),
    "gzip;q=1, gzip;q=0": (IDENTITY,),
    "deflate": (IDENTITY,),
    # Weights that cannot be read: the coding is not used.
    "gzip;q=": (IDENTITY,),
    "gzip;q=2": (IDENTITY,),
    "gzip;q=-1": (IDENTITY,),
    "gzip;q=nan": (IDENTITY,),
    "gzip;q=0.1234": (IDENTITY,),
    "gzip;q=1.001": (IDENTITY,),
    "gzip;level=9": (IDENTITY,),
    "gzip;q=1;q=0": (IDENTITY,),
    ";;;,,,=": (IDENTITY,),
}


@pytest.mark.parametrize("header", HEADERS)
def test_the_header_is_read_as_the_rfc_says(header: str | None) -> None:
    assert acceptable(header) == HEADERS[header]


@pytest.mark.parametrize("header", ["gzip," * 60, "br" + " " * 8_000, "x," * 1_000 + "br"])
def test_a_header_that_no_client_sends_accepts_no_coding(header: str) -> None:
    assert len(header) > MAX_CHARACTERS
    assert acceptable(header) == (IDENTITY,)


CODINGS = st.sampled_from(("br", "gzip", "identity", "*", "deflate", "BR", "x-gzip", ""))
WEIGHTS = st.sampled_from(("", ";q=0", ";q=0.001", ";q=0.5", ";q=1", "; q=1.000", ";q=x", ";q", ";"))
LISTS = st.lists(st.builds("{}{}".format, CODINGS, WEIGHTS), max_size=6).map(", ".join)


@given(LISTS | st.text(max_size=300))
def test_any_header_gives_known_codings_without_repetition(header: str) -> None:
    codings = acceptable(header)
    assert set(codings) <= {BR, GZIP, IDENTITY}
    assert len(set(codings)) == len(codings)


@given(LISTS)
def test_a_coding_is_accepted_only_by_its_name_or_the_star(header: str) -> None:
    for coding in acceptable(header):
        assert coding == IDENTITY or coding in header.lower() or "*" in header


@given(LISTS)
def test_what_this_service_does_not_know_changes_nothing(header: str) -> None:
    assert not header or acceptable(f"{header}, zstd;q=0.9, dcb") == acceptable(header)


def test_each_coding_and_level_has_a_tag_of_its_own() -> None:
    assert [tag_in(TAG, coding) for coding in (IDENTITY, BR, GZIP)] == [TAG, '"abc-br"', '"abc-gzip"']
    assert tag_in(TAG, BR, best=True) == '"abc-br-best"'


@pytest.mark.parametrize(
    ("has", "accepts", "told"),
    [
        (TAG, None, TAG),
        ('"abc-br"', None, '"abc-br"'),
        ('"abc-br"', "gzip, br", '"abc-br"'),
        ('"abc-br-best"', "gzip, br", '"abc-br-best"'),
        ('"abc-br-best"', "gzip", None),
        ('W/"abc-gzip"', "gzip, br", '"abc-gzip"'),
        ('"abc", "abc-gzip", "abc-br"', "gzip, br", '"abc-br"'),
        (TAG, "gzip, br", TAG),
        # The cache has only what this client does not accept.
        ('"abc-br"', "gzip", None),
        # A body that no coding makes smaller is sent plain to this client, too.
        (TAG, "gzip, identity;q=0", TAG),
        (f'{TAG}, "abc-gzip"', "gzip, identity;q=0", '"abc-gzip"'),
        ('"abc-zstd"', "zstd", None),
        ('"other"', "br", None),
        ("*", "gzip", '"abc-gzip"'),
        ("*", "*;q=0", TAG),
    ],
)
def test_a_client_is_told_of_what_it_has_and_accepts(has: str, accepts: str | None, told: str | None) -> None:
    headers = {"if-none-match": has} | ({} if accepts is None else {"accept-encoding": accepts})
    assert known_tag(headers, TAG) == told


def test_a_client_that_has_nothing_is_told_of_nothing() -> None:
    assert known_tag({"accept-encoding": "br"}, TAG) is None
