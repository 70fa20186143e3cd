"""Keys that were found in public end with those that came from them, once, and their owners get a mail."""

import json
from dataclasses import replace

import pytest

from actors.keys.exposures import EndExposed, ExposedEnded, FoundKey
from actors.keys.state import decide
from actors.shared.notices import notice
from actors.values import Scope
from tests.state.registry import ANN, BOB, HOUR, NOON, Registry
from tests.state.test_key_families import live
from tests.state.test_key_renewals import rotate

URL = "https://code.example.com/tool/settings.py"
MANAGE = (Scope.KEYS_MANAGE, Scope.LIBRARY_READ)


@pytest.fixture
def registry() -> Registry:
    """Ann has claimed key 1, which granted key 2, which granted key 3. Key 8 is anonymous, and key 9 Bob's."""
    registry = Registry()
    registry.claim("1")
    registry.claim("9", BOB)
    registry.act(registry.mint("8"))
    registry.act(registry.issue("2", scopes=MANAGE, by="1"), registry.issue("3", scopes=MANAGE, by="2"))
    registry.outbox.clear()
    return registry


def found(registry: Registry, name: str) -> FoundKey:
    told = notice(f"let_{name}", "key_exposed", "", registry.now_ms)
    return FoundKey(name.encode(), registry.audit("key.exposed", ""), told, URL)


def report(registry: Registry, *names: str) -> tuple[set[bytes], tuple[bytes, ...]]:
    """The texts that are known, and the keys that have changed."""
    answer = registry.one(EndExposed(tuple(found(registry, name) for name in names)))
    assert isinstance(answer, ExposedEnded)
    return set(answer.known), answer.changed


def mails(registry: Registry) -> list[tuple[str, str, str]]:
    """The recipient, key and number of other keys of each mail."""
    facts = [(message.recipient, json.loads(message.facts)) for message in registry.outbox]
    return [(recipient, each["label"], each["others"]) for recipient, each in facts]


def test_a_key_that_was_found_ends_with_what_it_granted_and_its_owner_is_told_once(registry: Registry) -> None:
    assert report(registry, "2") == ({b"2"}, (b"2", b"3"))
    assert live(registry) == {"k1", "k8", "k9"}
    assert mails(registry) == [(ANN, "cs_scoped_2", "1")]
    assert [(each.action, each.target_id) for each in registry.audits[-2:]] == [
        ("key.exposed", "k2"),
        ("key.revoked", "k3"),
    ]
    # The node that asks may not know yet that another one has ended it.
    assert report(registry, "2", "2", "none") == ({b"2"}, (b"2",))
    assert len(registry.outbox) == 1


def test_keys_of_several_owners_end_in_one_transaction_and_each_owner_hears_of_each(registry: Registry) -> None:
    report(registry, "3", "1", "9", "8")
    assert live(registry) == set()
    assert mails(registry) == [(ANN, "cs_scoped_3", ""), (ANN, "cs_anon_1", "1"), (BOB, "cs_anon_9", "")]


@pytest.mark.parametrize("email", [ANN, "new@example.com"])
def test_whoever_claims_a_key_in_the_batch_that_ends_it_is_told(registry: Registry, email: str) -> None:
    registry.act(registry.start("8", email))
    registry.outbox.clear()
    registry.act(registry.complete("8", email), EndExposed((found(registry, "8"),)))
    assert registry.keys["k8"].revoked_ms is not None
    assert mails(registry) == [(email, "cs_anon_8", "")]


def test_a_key_that_works_takes_its_successor_along_and_one_that_has_ended_does_not(registry: Registry) -> None:
    """Whoever found a key that works could have rotated it. An old text that lies around is no proof of a newer one."""
    registry.act(rotate(registry, "2", "4", "2"))
    for pass_ms, left in ((0, {"k1", "k8", "k9"}), (2 * HOUR, {"k1", "k3", "k4", "k8", "k9"})):
        later = replace(registry, keys=dict(registry.keys), outbox=[], now_ms=NOON + pass_ms)
        report(later, "2")
        assert later.keys["k2"].revoked_ms is not None
        assert live(later) == left
        assert len(later.outbox) == (pass_ms == 0), "nothing that worked has ended"


def test_the_text_of_an_authorized_program_takes_its_key_along_only_while_it_works(registry: Registry) -> None:
    for ends_ms, left in ((NOON, {"k1", "k2", "k3", "k8", "k9"}), (NOON + 1, {"k1", "k8", "k9"})):
        registry.keys["k2"] = replace(registry.keys["k2"], text_expires_ms=ends_ms)
        assert report(registry, "2")[0] == {b"2"}
        assert live(registry) == left


def test_a_text_that_was_replaced_between_its_lookup_and_the_lock_ends_nothing(registry: Registry) -> None:
    message = EndExposed((found(registry, "2"),))
    snapshot = registry.snapshot([message])
    snapshot.keys["k2"] = replace(snapshot.keys["k2"], hash=b"fresh")
    decision = decide(snapshot, [message], NOON, registry.rules)
    assert decision.answers == [ExposedEnded(frozenset(), ())]
    assert decision.changed.keys == {}


def test_an_anonymous_key_that_has_expired_can_be_claimed_no_more(registry: Registry) -> None:
    registry.pass_ms(100 * HOUR)
    assert report(registry, "8") == ({b"8"}, (b"8",))
    assert registry.keys["k8"].revoked_ms is not None
