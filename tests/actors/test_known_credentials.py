"""Hashes of credentials that were found: bounded, and those in use stay."""

from actors.shared.known_credentials import KnownCredentials


def test_found_hashes_are_bounded_and_those_found_again_stay() -> None:
    found = KnownCredentials(capacity=2)
    for each in (b"a", b"b", b"a", b"c"):
        found.add(each)
    assert b"a" in found
    assert b"b" not in found
    assert b"c" in found


def test_a_credential_is_sought_until_all_of_its_lookups_have_ended() -> None:
    found = KnownCredentials()
    with found.seeking(b"a"):
        with found.seeking(b"a"):
            assert found.is_being_looked_up(b"a")
        assert found.is_being_looked_up(b"a")
        assert not found.is_being_looked_up(b"b")
    assert not found.is_being_looked_up(b"a")
