"""The rules of what people allow programs: codes, keys whose texts are replaced, and what revokes them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from actors.keys.authorizations import Authorization, Authorize, EndAuthorization, ExchangeCode, FreshText, RefreshText
from actors.keys.authorizing import OPEN_CODES
from actors.keys.messages import Answer, Authorized, ByKey, KeysEnded, RotateKey
from actors.keys.state import KeyRules
from actors.keys.validity import is_live
from actors.shared.credentials import Kind
from actors.shared.notices import notice
from actors.values import Code, Refused, Scope
from tests.state.registry import ANN, BOB, DAY, HOUR, MINUTE, SESSION, Registry

CALLBACK, RESOURCE = "http://127.0.0.1/callback", "https://catalog.example.com/mcp"
CLIENT, OTHER = b"client", b"other client"
READ = (Scope.LIBRARY_READ,)
LIFE = 90 * DAY


@pytest.fixture
def registry() -> Registry:
    """Ann has an account with a full key."""
    registry = Registry(rules=KeyRules(scoped_keys_per_account=3))
    registry.act(registry.issue("0", ANN))
    return registry


def allow(registry: Registry, name: str = "1", **changes: Any) -> Authorize:
    now_ms = registry.now_ms
    allowed = Authorization(
        id=f"aut_{name}",
        code_hash=f"code {name}".encode(),
        client_hash=CLIENT,
        client_name="Reader",
        redirect_uri=CALLBACK,
        challenge=b"challenge",
        resource=RESOURCE,
        scopes=READ,
        email=ANN,
        session_id=SESSION,
        created_ms=now_ms,
        expires_ms=now_ms + registry.rules.code_life_ms,
        key_expires_ms=now_ms + LIFE,
        used_ms=now_ms,
    )
    return Authorize(replace(allowed, **changes))


def text(name: str, number: int) -> FreshText:
    """The text of a key, and the refresh token that replaces it. All refresh tokens of a name share a half."""
    return FreshText(f"text {name} {number}".encode(), f"cs_scoped_{name}", f"r {name}".encode(), f"{number}".encode())


def exchange(registry: Registry, name: str = "1", **changes: Any) -> ExchangeCode:
    issued, revoked = registry.audit("key.issued", f"k{name}"), registry.audit("key.revoked", "")
    proof = CLIENT, CALLBACK, b"challenge", None
    told = notice(f"let_{name}", "new_key", "", registry.now_ms)
    message = ExchangeCode(f"code {name}".encode(), *proof, f"k{name}", text(name, 0), issued, revoked, told)
    return replace(message, **changes)


def refresh(registry: Registry, number: int, name: str = "1", **changes: Any) -> RefreshText:
    """With the refresh token of this number, for the next one."""
    revoked = registry.audit("key.revoked", "")
    message = RefreshText(f"{number}".encode(), CLIENT, None, None, text(name, number + 1), revoked)
    return replace(message, **changes)


def connected(registry: Registry, name: str = "1") -> None:
    assert isinstance(registry.one(allow(registry, name)), Authorized)
    assert isinstance(registry.one(exchange(registry, name)), Authorized)


def code(answer: Answer) -> Code | None:
    return answer.code if isinstance(answer, Refused) else None


def test_a_code_is_exchanged_for_a_scoped_key_that_its_owner_hears_of(registry: Registry) -> None:
    connected(registry)
    key = registry.keys["k1"]
    assert (key.kind, key.scopes, key.name, key.tenant_id) == (Kind.SCOPED, READ, "Reader", "t0")
    assert (key.expires_ms, key.text_expires_ms) == (registry.now_ms + LIFE, registry.now_ms + HOUR)
    assert key.end_notice_ms == registry.now_ms + LIFE - 7 * DAY
    [mail] = registry.outbox
    assert (mail.template, mail.recipient, json.loads(mail.facts)["target"]) == ("new_key", ANN, "k1")
    record = registry.audits[-1]
    assert (record.action, record.actor_id, record.actor_email, record.target_id) == ("key.issued", SESSION, ANN, "k1")


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        ({"client_hash": OTHER}, Code.INVALID_GRANT),
        ({"redirect_uri": f"{CALLBACK}/"}, Code.INVALID_GRANT),
        ({"challenge": b"another"}, Code.INVALID_GRANT),
        ({"resource": "https://elsewhere.example.com"}, Code.INVALID_TARGET),
        ({"code_hash": b"unknown"}, Code.INVALID_GRANT),
    ],
    ids=lambda case: str(case),
)
def test_a_wrong_exchange_changes_nothing_and_leaves_the_code(
    registry: Registry, wrong: dict[str, Any], refusal: Code
) -> None:
    registry.act(allow(registry))
    assert code(registry.one(exchange(registry, **wrong))) is refusal
    assert (len(registry.keys), registry.outbox) == (1, [])
    assert isinstance(registry.one(exchange(registry, resource=RESOURCE)), Authorized)


def test_a_code_that_comes_again_revokes_its_key_whoever_proves_what(registry: Registry) -> None:
    connected(registry)
    assert code(registry.one(exchange(registry, key_id="k2", text=text("2", 0)))) is Code.INVALID_GRANT
    assert registry.keys["k1"].revoked_ms == registry.now_ms
    assert "k2" not in registry.keys
    assert registry.last.touched_keys == [registry.keys["k1"].hash], "all nodes hear of it"
    assert (registry.audits[-1].action, registry.audits[-1].target_id) == ("key.revoked", "k1")
    assert json.loads(registry.audits[-1].changes) == {"reason": "replayed_code"}
    assert code(registry.one(refresh(registry, 0))) is Code.INVALID_GRANT


def test_another_client_cannot_revoke_a_key_with_its_code(registry: Registry) -> None:
    connected(registry)
    assert code(registry.one(exchange(registry, client_hash=OTHER))) is Code.INVALID_GRANT
    assert registry.keys["k1"].revoked_ms is None


def test_a_code_ends_with_its_minute_its_session_and_its_account(registry: Registry) -> None:
    registry.act(allow(registry), allow(registry, "2", session_id="ses_over"))
    assert "aut_2" not in registry.authorizations, "an ended session allows nothing"
    registry.authorizations["aut_3"] = replace(allow(registry, "3").authorization, session_id="ses_over")
    assert code(registry.one(exchange(registry, "3"))) is Code.INVALID_GRANT
    registry.accounts[ANN] = replace(registry.accounts[ANN], suspended_ms=registry.now_ms)
    assert code(registry.one(exchange(registry))) is Code.INVALID_GRANT
    assert code(registry.one(allow(registry, "4"))) is Code.FORBIDDEN
    registry.accounts[ANN] = replace(registry.accounts[ANN], suspended_ms=None)
    registry.pass_ms(MINUTE)
    assert code(registry.one(exchange(registry))) is Code.INVALID_GRANT
    assert code(registry.one(allow(registry, "5", email=BOB))) is Code.UNAUTHORIZED, "Bob has no account"


def test_an_account_allows_no_more_programs_than_it_may_have_scoped_keys(registry: Registry) -> None:
    for name in ("1", "2", "3", "4"):
        registry.act(allow(registry, name))
    answers = registry.act(*(exchange(registry, name) for name in ("1", "2", "3", "4")))
    assert [code(each) for each in answers] == [None, None, None, Code.INVALID_GRANT]
    assert code(registry.one(allow(registry, "5"))) is Code.KEY_LIMIT


def test_an_account_has_so_many_open_codes_within_a_batch_and_over_batches(registry: Registry) -> None:
    several = registry.act(*(allow(registry, f"a{number}") for number in range(OPEN_CODES - 1)))
    assert {code(each) for each in several} == {None}
    answers = registry.act(allow(registry, "b"), allow(registry, "c"))
    assert [code(each) for each in answers] == [None, Code.RATE_LIMITED]
    answers = registry.act(exchange(registry, "b"), allow(registry, "d"), allow(registry, "e"))
    assert [code(each) for each in answers] == [None, None, Code.RATE_LIMITED], "an exchange makes room"
    registry.pass_ms(MINUTE)
    assert code(registry.one(allow(registry, "f"))) is None


def test_a_form_allows_a_program_once(registry: Registry) -> None:
    assert [code(each) for each in registry.act(allow(registry), allow(registry))] == [None, Code.INVALID_STATE]
    assert code(registry.one(allow(registry))) is Code.INVALID_STATE
    registry.act(exchange(registry))
    assert code(registry.one(allow(registry))) is Code.INVALID_STATE


def test_a_refresh_replaces_the_text_of_the_key_and_the_token(registry: Registry) -> None:
    connected(registry)
    before = registry.keys["k1"]
    registry.pass_ms(50 * MINUTE)
    assert isinstance(registry.one(refresh(registry, 0)), Authorized)
    key = registry.keys["k1"]
    assert key == replace(before, hash=b"text 1 1", text_expires_ms=registry.now_ms + HOUR), "all else stays"
    assert registry.last.touched_keys == [before.hash]
    assert (registry.last.outbox, registry.last.audits) == ([], []), "nobody is told each hour"
    registry.pass_ms(LIFE - 2 * HOUR)
    registry.act(refresh(registry, 1))
    registry.pass_ms(65 * MINUTE)
    registry.act(refresh(registry, 2))
    assert registry.keys["k1"].text_expires_ms == key.expires_ms, "a text ends no later than its key"
    registry.pass_ms(HOUR)
    assert code(registry.one(refresh(registry, 3))) is Code.INVALID_GRANT


def test_the_same_refresh_token_has_the_same_answer_for_two_minutes_and_then_revokes(registry: Registry) -> None:
    connected(registry)
    registry.act(refresh(registry, 0))
    stored = registry.authorizations["aut_1"], registry.keys["k1"]
    registry.pass_ms(2 * MINUTE - 1)
    assert registry.one(refresh(registry, 0)) == Authorized(*stored)
    assert (registry.authorizations["aut_1"], registry.keys["k1"]) == stored
    registry.pass_ms(1)
    assert code(registry.one(refresh(registry, 0))) is Code.INVALID_GRANT
    assert registry.keys["k1"].revoked_ms == registry.now_ms
    assert json.loads(registry.audits[-1].changes) == {"reason": "replayed_refresh_token"}
    assert code(registry.one(refresh(registry, 1))) is Code.INVALID_GRANT, "the newest does not work either"


def test_a_refresh_token_from_before_the_last_one_revokes_at_once(registry: Registry) -> None:
    connected(registry)
    registry.act(refresh(registry, 0))
    registry.act(refresh(registry, 1))
    assert code(registry.one(refresh(registry, 0))) is Code.INVALID_GRANT
    assert registry.keys["k1"].revoked_ms is not None
    assert json.loads(registry.audits[-1].changes) == {"reason": "replayed_refresh_token"}


def test_a_repetition_under_another_secret_of_the_server_revokes(registry: Registry) -> None:
    connected(registry)
    registry.act(refresh(registry, 0))
    assert code(registry.one(refresh(registry, 0, text=replace(text("1", 1), secret_hash=b"x")))) is Code.INVALID_GRANT


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        ({"client_hash": OTHER}, Code.INVALID_GRANT),
        ({"resource": "https://elsewhere.example.com"}, Code.INVALID_TARGET),
        ({"scopes": (Scope.LIBRARY_READ, Scope.SPONSOR_READ)}, Code.INVALID_SCOPE),
        ({"text": text("unknown", 1)}, Code.INVALID_GRANT),
    ],
    ids=lambda case: str(case)[:40],
)
def test_a_wrong_refresh_changes_nothing(registry: Registry, wrong: dict[str, Any], refusal: Code) -> None:
    connected(registry)
    assert code(registry.one(refresh(registry, 0, **wrong))) is refusal
    assert registry.keys["k1"].revoked_ms is None
    assert code(registry.one(refresh(registry, 0, resource=RESOURCE, scopes=READ))) is None


def test_a_key_that_its_owner_revoked_or_rotated_is_not_refreshed(registry: Registry) -> None:
    connected(registry)
    connected(registry, "2")
    registry.act(registry.revoke("1"))
    registry.keys["k2"] = replace(registry.keys["k2"], successor_id="k3")
    for name in ("1", "2"):
        assert code(registry.one(refresh(registry, 0, name))) is Code.INVALID_GRANT


@pytest.mark.parametrize("over", ["expired", "rotated"])
def test_a_refresh_token_that_comes_again_revokes_a_key_that_is_over_but_may_still_work(
    registry: Registry, over: str
) -> None:
    """A key that has expired works where a clock is behind, and one that was rotated works until its grace is over."""
    connected(registry)
    registry.act(refresh(registry, 0))
    key = registry.keys["k1"]
    if over == "expired":
        registry.now_ms += LIFE
    else:
        registry.keys["k1"] = replace(key, successor_id="k2")
    assert code(registry.one(refresh(registry, 1))) is Code.INVALID_GRANT
    assert registry.keys["k1"].revoked_ms is None, "the newest token ends nothing"
    assert code(registry.one(refresh(registry, 0))) is Code.INVALID_GRANT
    assert registry.keys["k1"].revoked_ms == registry.now_ms
    assert json.loads(registry.audits[-1].changes) == {"reason": "replayed_refresh_token"}
    assert registry.last.touched_keys == [key.hash], "all nodes hear of it"


def test_a_program_cannot_rotate_its_key_into_one_whose_text_does_not_end(registry: Registry) -> None:
    registry.act(allow(registry, scopes=(Scope.KEYS_MANAGE,)))
    registry.act(exchange(registry))
    fresh = {kind: registry.key("9", kind) for kind in (Kind.USER, Kind.SCOPED)}
    records = registry.audit("key.rotated", "k1"), registry.audit("key.issued", "k9")
    assert code(registry.one(RotateKey("k1", ANN, fresh, HOUR, *records, ByKey("k1"), full=True))) is Code.FORBIDDEN


@pytest.mark.parametrize("by", ["refresh token", "key"])
def test_a_client_ends_only_its_own_key_and_once(registry: Registry, by: str) -> None:
    connected(registry)
    refresh_hash, key_id = (b"r 1", None) if by == "refresh token" else (None, "k1")
    order = EndAuthorization(CLIENT, refresh_hash, key_id, registry.audit("key.revoked", ""))
    assert registry.one(replace(order, client_hash=OTHER)) == KeysEnded(())
    assert is_live(registry.keys["k1"], registry.now_ms)
    assert registry.one(order) == KeysEnded((registry.keys["k1"],))
    assert not is_live(registry.keys["k1"], registry.now_ms)
    # The node that asks may not know yet that another one has ended it.
    assert registry.act(order, order) == [KeysEnded((registry.keys["k1"],))] * 2
    assert [each.action for each in registry.audits].count("key.revoked") == 1
    assert registry.one(EndAuthorization(CLIENT, b"r 9", None, order.revoked)) == KeysEnded(())


@pytest.mark.parametrize("why", ["replayed code", "replayed refresh token", "client"])
def test_a_key_of_a_program_takes_the_keys_along_that_it_granted(registry: Registry, why: str) -> None:
    registry.act(allow(registry, scopes=(Scope.KEYS_MANAGE, *READ)))
    registry.act(exchange(registry))
    registry.act(registry.issue("8", ANN, READ, by="1"), refresh(registry, 0), refresh(registry, 1))
    granted = registry.keys["k8"]
    match why:
        case "replayed code":
            registry.act(exchange(registry))
        case "replayed refresh token":
            registry.act(refresh(registry, 0))
        case "client":
            answer = registry.one(EndAuthorization(CLIENT, b"r 1", None, registry.audit("key.revoked", "")))
            assert answer == KeysEnded((registry.keys["k1"], registry.keys["k8"]))
    assert [registry.keys[name].revoked_ms for name in ("k1", "k8")] == [registry.now_ms] * 2
    assert registry.last.touched_keys == [registry.keys["k1"].hash, granted.hash], "all nodes hear of both"
    assert json.loads(registry.audits[-1].changes) == {"endedWith": "k1"}


def test_one_batch_sees_what_its_earlier_messages_did(registry: Registry) -> None:
    answers = registry.act(allow(registry), exchange(registry), refresh(registry, 0), refresh(registry, 1))
    assert [code(each) for each in answers] == [None] * 4
    assert registry.keys["k1"].hash == b"text 1 2"
    answers = registry.act(allow(registry, "2"), refresh(registry, 0), refresh(registry, 2), exchange(registry, "2"))
    assert [code(each) for each in answers] == [None, Code.INVALID_GRANT, Code.INVALID_GRANT, None]
    assert [registry.keys[name].revoked_ms is None for name in ("k1", "k2")] == [False, True]
