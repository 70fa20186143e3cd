"""Reports of keys that were found in public: what they end, who may report, and how a scanner signs."""

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, SECP384R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from actors.shared.credentials import Kind, new_key
from actors.values import Scope, Tier
from service.config.loading import load
from service.config.user_errors import ConfigError
from service.tokens.scanners import is_signed
from tests.api.asgi import Response
from tests.api.world import World, open_world

PATH, BOTS = "/api/v1/keys/exposed", "/api/v1/bots"
URL = "https://code.example.com/team/tool/settings.py"
ANN = "ann@example.com"
SIGNER = generate_private_key(SECP256R1())
PEM = SIGNER.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
SCANNERS = json.dumps([{"id": "key-1", "pem": PEM}])


def found(*texts: str, url: str = URL) -> list[dict[str, Any]]:
    return [{"token": text, "type": "catalog_api_key", "url": url, "source": "commit"} for text in texts]


async def report(world: World, *texts: str, **headers: str) -> list[str]:
    response = await world.client.post(PATH, json=found(*texts), headers=headers)
    assert response.words == "200", response.body
    assert [each["token_hash"] for each in response.json] == [sha256(text.encode()).hexdigest() for text in texts]
    assert {each["token_type"] for each in response.json} == {"catalog_api_key"}
    return [each["label"] for each in response.json]


async def signed(world: World, body: Any, key_id: str = "key-1", signature: str | None = None) -> Response:
    raw = json.dumps(body).encode()
    made = signature if signature is not None else b64encode(SIGNER.sign(raw, ECDSA(SHA256()))).decode()
    headers = {"Github-Public-Key-Identifier": key_id, "Github-Public-Key-Signature": made}
    return await world.client.post(PATH, body=raw, headers=headers | {"content-type": "application/json"})


async def test_keys_of_every_kind_end_at_once_and_their_owner_is_mailed(world: World) -> None:
    full = world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=ANN)
    scoped = world.key_of(ANN, (Scope.LIBRARY_READ,))
    anonymous, bystander = world.key(), world.key()
    for key in (full, scoped, anonymous):
        assert (await world.client.get(BOTS, key)).words == "200"
    texts = (
        full,
        scoped,
        anonymous,
        full[:-1] + ("a" if full[-1] != "a" else "b"),
        new_key(Kind.USER, bytes(48)),
        "sst_x",
    )
    labels = ["true_positive"] * 3 + ["false_positive"] * 3
    assert await report(world, *texts) == labels
    for key in (full, scoped, anonymous):
        assert (await world.client.get(BOTS, key)).words == "401 invalid_api_key"
    assert (await world.client.get(BOTS, bystander)).words == "200"
    assert await report(world, *texts) == labels, "a repeated report"
    await world.settled()
    assert [mail.recipient for mail in world.postbox.mails] == [ANN, ANN]
    records = [each for each in world.memory.audits if each.action == "key.exposed"]
    assert [(each.actor_type, each.actor_id, each.changes) for each in records] == [
        ("system", "report", json.dumps({"url": URL}))
    ] * 3


async def test_only_the_report_of_a_scanner_that_signs_puts_its_address_into_the_mail() -> None:
    """A stranger with a key must not write into a mail of ours where its owner is to look."""
    for is_known in (True, False):
        async with open_world(KEYS__SCANNER_KEYS=SCANNERS) as world:
            key = world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=ANN)
            assert (await signed(world, found(key), "key-1" if is_known else "key-2")).words == "200"
            await world.settled()
            [mail] = world.postbox.mails
            assert (URL in mail.text) is is_known
            assert key[:12] in mail.text
            assert key not in mail.text
            assert world.memory.audits[-1].actor_id == ("key-1" if is_known else "report")


async def test_a_signature_lifts_the_limit_per_address_and_a_wrong_one_is_refused() -> None:
    async with open_world(KEYS__SCANNER_KEYS=SCANNERS, KEYLESS__PER_MINUTE=2) as world:
        key = world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=ANN)
        for wrong in (
            "",
            "no base64",
            "AAAA",
            b64encode(SIGNER.sign(b"other", ECDSA(SHA256()))).decode(),
            "A" * 10_000,
        ):
            assert (await signed(world, found(key), signature=wrong)).words == "400 invalid_request"
        assert (await world.client.get(BOTS, key)).words == "200", "nothing has changed"
        assert [(await signed(world, found("x"))).words for _ in range(4)] == ["200"] * 4
        plain = [(await world.client.post(PATH, json=found("x"))).words for _ in range(3)]
        assert plain == ["200", "200", "429 rate_limited"]
        assert (await signed(world, found(key))).json[0]["label"] == "true_positive"


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        found("x")[0],
        found("x") * 101,
        found("x" * 201),
        found("x", url="https://example.com/" + "x" * 2_048),
        found("x", url="a\0b"),
        [{"token": "x"}],
        [{"token": "x", "type": "t", "url": "", "other": 1}],
    ],
)
async def test_a_report_that_breaks_a_bound_changes_nothing(world: World, body: Any) -> None:
    key = world.key()
    if isinstance(body, list) and len(body) > 1:
        body = [*found(key), *body]
    assert (await world.client.post(PATH, json=body)).words == "400 invalid_request"
    assert (await world.client.get(BOTS, key)).words == "200"


async def test_a_place_may_be_unknown_and_a_text_may_come_twice(world: World) -> None:
    key = world.key(kind=Kind.USER, tier=Tier.UPGRADED, email=ANN)
    body = [{"token": key, "type": "a"}, {"token": key, "type": "b", "url": ""}, *found(key)]
    answer = (await world.client.post(PATH, json=body)).json
    assert [(each["token_type"], each["label"]) for each in answer] == [
        (kind, "true_positive") for kind in ("a", "b", "catalog_api_key")
    ]
    assert json.loads(world.memory.audits[-1].changes) == {"url": URL}


def test_the_sample_of_the_partner_program_verifies() -> None:
    """The request that the program's documentation shows, and the public key of that time."""
    pem = (
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYAGMWO8XgCamYKMJS6jc/qgvSlAd\n"
        "AjPuDPRcXU22YxgBrz+zoN19MzuRyW87qEt9/AmtoNP5GrobzUvQSyJFVw==\n-----END PUBLIC KEY-----\n"
    )
    body = b'[{"source":"commit","token":"some_token","type":"some_type","url":"https://example.com/base-repo-url/"}]'
    signature = "MEQCIQDaMKqrGnE27S0kgMrEK0eYBmyG0LeZismAEz/BgZyt7AIfXt9fErtRS4XaeSt/AO1RtBY66YcAdjxji410VQV4xg=="
    assert is_signed(body, signature, pem)
    assert not is_signed(body + b"\n", signature, pem)


def test_a_key_of_a_scanner_is_checked_when_the_configuration_is_read() -> None:
    other = generate_private_key(SECP384R1()).public_key()
    for pem in ("none", PEM[:60], other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()):
        with pytest.raises(ConfigError, match=r"keys.scanner_keys.0.pem: must be a public key"):
            load(None, {"CATALOG__KEYS__SCANNER_KEYS": json.dumps([{"id": "a", "pem": pem}])})
