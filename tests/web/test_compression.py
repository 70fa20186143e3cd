"""The compressor: what it compresses, remembers and gives up, in virtual time."""

import gzip
import random
from typing import Any

import brotli
import pytest
import trio

from actors.catalog.messages import Kind
from service.api.encodings import BR, GZIP
from service.api.messages import Answer
from service.seed.catalog_file import parse
from service.seed.samples import FILE as SAMPLE_CATALOG
from service.web.compression import PIECE_BYTES, QUICK, Budget, CompressionLimits, Compressor, compressed
from service.web.representations import Representation
from tests.snapshots.entries import snapshot_of

CHANCE = random.Random(7)
BODY = " ".join(
    CHANCE.choice(("data", "slug", "title", "plain", "work", "done", "an", "hour")) for _ in range(800)
).encode()
BROTLI = {"accept-encoding": "gzip, br"}


def answer(tag: str = '"t"', body: bytes = BODY) -> Answer:
    return Answer(200, body, [("etag", tag)], public_tag=tag)


def compressor(**limits: Any) -> Compressor:
    return Compressor(CompressionLimits(**limits))


@pytest.mark.parametrize(("coding", "decoded"), [(BR, brotli.decompress), (GZIP, gzip.decompress)])
@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
async def test_a_body_of_any_size_comes_back(coding: str, decoded: Any, size: int) -> None:
    body = (BODY * (size // len(BODY) + 1))[:size]
    assert decoded(await compressed(body, coding, QUICK)) == body


async def test_a_public_body_is_sent_in_the_best_coding() -> None:
    encoded = await compressor().encode(answer(), BROTLI)
    assert brotli.decompress(encoded.body) == BODY
    assert encoded.headers == [("etag", '"t-br"'), ("content-encoding", "br")]


@pytest.mark.parametrize(
    "headers",
    [{}, {"accept-encoding": "identity"}, {"accept-encoding": "*;q=0"}, BROTLI | {"cache-control": "No-Transform"}],
)
async def test_a_client_that_wants_it_plain_gets_it_plain(headers: dict[str, str]) -> None:
    encoded = await compressor().encode(answer(), headers)
    assert (encoded.body, encoded.headers) == (BODY, [("etag", '"t"')])


async def test_what_belongs_to_one_caller_is_never_compressed() -> None:
    encoded = await compressor().encode(Answer(200, BODY), BROTLI)
    assert (encoded.body, encoded.headers) == (BODY, [])


async def test_a_small_body_is_compressed_only_for_who_refuses_it_plain() -> None:
    small = BODY[:1_023]
    assert (await compressor().encode(answer(body=small), BROTLI)).body == small
    forced = await compressor().encode(answer(body=small), {"accept-encoding": "br, identity;q=0"})
    assert brotli.decompress(forced.body) == small


async def test_a_body_that_does_not_shrink_is_sent_plain() -> None:
    noise, ours = random.Random(1).randbytes(2_000), compressor()
    for _ in range(2):
        assert (await ours.encode(answer(body=noise), BROTLI)).body == noise
    assert repr(ours) == "<Compressor 1 bodies, 400 bytes>"


async def test_a_body_is_compressed_once_for_each_coding() -> None:
    ours = compressor(bytes_per_second=0, burst_bytes=2 * len(BODY))
    for _ in range(5):
        for coding in (BR, GZIP):
            encoded = await ours.encode(answer(), {"accept-encoding": coding})
            assert ("content-encoding", coding) in encoded.headers
    assert repr(ours).startswith("<Compressor 2 bodies")


async def test_compressing_has_a_bound_in_bytes_a_second(autojump_clock: object) -> None:
    ours = compressor(bytes_per_second=3 * len(BODY), burst_bytes=3 * len(BODY))

    async def coded(tag: str) -> bool:
        return len((await ours.encode(answer(tag), BROTLI)).body) < len(BODY)

    assert [await coded(f'"{each}"') for each in range(5)] == [True, True, True, False, False]
    assert await coded('"0"'), "what is cached costs nothing"
    await trio.sleep(0.34)
    assert [await coded(f'"{each}"') for each in (3, 4)] == [True, False]
    assert await ours.encode_once(BODY, BROTLI) == (BODY, "identity")


async def test_cached_bodies_have_a_bound_and_the_oldest_go_first() -> None:
    ours = compressor(cached_bytes=3_000, burst_bytes=10**9, popular=10**9)
    size = len((await ours.encode(answer('"0"'), BROTLI)).body) + 400
    for each in range(1, 50):
        await ours.encode(answer(f'"{each}"'), BROTLI)
        await ours.encode(answer('"0"'), BROTLI)
    kept = 3_000 // size
    assert repr(ours) == f"<Compressor {kept} bodies, {kept * size} bytes>"
    assert ours._cached.keys() == {('"0"', BR), *((f'"{each}"', BR) for each in range(51 - kept, 50))}


async def test_while_a_body_is_compressed_others_get_it_plain(autojump_clock: object) -> None:
    large, sent = BODY * 40, []
    ours = compressor()

    async def ask() -> None:
        sent.append(len((await ours.encode(answer(body=large), BROTLI)).body))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(ask)
    assert sorted(size < len(large) for size in sent) == [False, False, False, True]
    await ask()
    assert sent[-1] < len(large)


async def test_a_popular_body_is_compressed_as_well_as_possible_in_a_thread() -> None:
    ours = compressor(popular=3, best_least_bytes=0)
    sent = [await ours.encode(answer(), BROTLI) for _ in range(5)]
    sizes = [len(each.body) for each in sent]
    assert sizes[1] == sizes[0]
    assert sizes[2] == sizes[3] == sizes[4] < sizes[0]
    assert [dict(each.headers)["etag"] for each in sent[1:3]] == ['"t-br"', '"t-br-best"'], (
        "other bytes have another tag"
    )
    assert brotli.decompress(sent[-1].body) == BODY
    assert repr(ours) == f"<Compressor 1 bodies, {sizes[2] + 400} bytes>"


async def test_only_some_popular_bodies_are_compressed_again(autojump_clock: object) -> None:
    ours = compressor(popular=2, best_least_bytes=0, best_bytes=len(BODY) - 1)
    sizes = {len((await ours.encode(answer(), BROTLI)).body) for _ in range(9)}
    assert len(sizes) == 1, "it is larger than all that may be compressed at once"
    ours = compressor(popular=2, best_least_bytes=len(BODY) + 1)
    assert {len((await ours.encode(answer(), BROTLI)).body) for _ in range(9)} == sizes, "it is small"


@pytest.mark.parametrize(
    ("kind", "coding", "first", "popular"),
    [
        (Kind.USECASES, BR, 0.345, 0.283),
        (Kind.USECASES, GZIP, 0.36, 0.342),
        (Kind.BOTS, BR, 0.324, 0.255),
        (Kind.BOTS, GZIP, 0.334, 0.326),
    ],
)
async def test_a_list_of_the_sample_catalog_shrinks_as_documented(
    kind: Kind, coding: str, first: float, popular: float
) -> None:
    """The shares of ADR 0088, rounded up."""
    body = sample_list(kind)
    ours = compressor(popular=2)
    shares = []
    for _ in range(2):
        coded = await ours.encode(answer(body=body), {"accept-encoding": coding})
        shares.append(len(coded.body) / len(body))
    assert shares[0] <= first
    assert shares[1] <= popular


def sample_list(kind: Kind) -> bytes:
    """The first page of 100 entries of the sample catalog."""
    with SAMPLE_CATALOG.open("rb") as stream:
        entries = parse(stream).entries[kind]
    return snapshot_of(kind, entries).page(kind, None, 100).body()


def test_a_budget_refills_with_time_up_to_its_most() -> None:
    budget = Budget(100, 400)
    assert budget.try_spend(400, 0.0)
    assert not budget.try_spend(1, 0.0)
    assert budget.try_spend(50, 0.5)
    assert not budget.try_spend(1, 0.5)
    assert not budget.try_spend(401, 1_000.0)
    assert budget.try_spend(400, 1_000.0)


# Documents.


async def test_a_document_is_compressed_once_and_each_coding_has_its_tag() -> None:
    document = Representation(BODY, "application/json", [("cache-control", "public")])
    for headers, coding in (({}, None), (BROTLI, "br"), (BROTLI, "br"), ({"accept-encoding": "gzip"}, "gzip")):
        told = await document.answer(headers)
        assert dict(told.headers).get("content-encoding") == coding
        assert dict(told.headers)["vary"] == "Accept-Encoding"
        known = await document.answer({**headers, "if-none-match": dict(told.headers)["etag"]})
        assert (known.status, known.body) == (304, b"")
        assert dict(known.headers)["etag"] == dict(told.headers)["etag"]
    assert (await document.answer(BROTLI)).body is (await document.answer(BROTLI)).body


async def test_while_a_document_is_compressed_others_get_it_plain() -> None:
    document = Representation(BODY * 40, "application/json")
    sent = []

    async def ask() -> None:
        sent.append(dict((await document.answer(BROTLI)).headers).get("content-encoding"))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
    assert sorted(str(coding) for coding in sent) == ["None", "None", "br"]
