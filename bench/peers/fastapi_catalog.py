"""Catalog reads of the FastAPI program, in two idioms.

`models` is what most people would write: a transaction with one statement per step, and pydantic models for output.
`raw` is written for speed: one statement per request, and Postgres's text is sent unchanged. Both authenticate, enforce
the same caps, count in the same columns and respond after the commit.

The caps of each tier are in PEER_CAPS.
"""

import json
import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, HTTPException, Query, Response
from pydantic import BaseModel

from bench.peers.pool import Pool

CANDIDATES = 2_000
"""Number of matches that a search ranks, as in the service."""

NO_CAP = 2**62

CAPS: dict[str, dict[str, int]] = json.loads(os.environ.get("PEER_CAPS", "{}"))
"""Caps by tier: `lifetime`, `usecase_reads`, `monthly` and `daily`, each optional."""

READ = "select document::text from usecases where kind = 'usecases' and slug = $1"

LIST = """
    select slug, added_ms, document::text as document from usecases
    where kind = 'usecases' and added_ms <= $1 and (added_ms < $1 or slug > $2)
    order by added_ms desc, slug limit $3
"""

SEARCH = """
    with query as materialized (
        select websearch_to_tsquery('english', $1) as wanted
    ), candidates as materialized (
        select slug, added_ms, words from query, usecases
        where kind = 'usecases' and words @@ wanted
        order by title_words @@ wanted desc, added_ms desc, slug limit $3
    ), best as materialized (
        select slug, added_ms, ts_rank(words, wanted) as rank from query, candidates
        order by rank desc, added_ms desc, slug limit $2
    )
    select document::text as document from best join usecases on usecases.kind = 'usecases' and usecases.slug = best.slug
    order by rank desc, best.added_ms desc, best.slug
"""

AUTHENTICATE = """
    select tenants.id, tier from api_keys join tenants on tenants.id = api_keys.tenant_id
    where hash = $1 and revoked_ms is null and (expires_ms is null or expires_ms > $2)
"""

# A window never goes back: another machine's clock may be ahead of ours.
COUNT = """
    update tenants set
        lifetime_used = lifetime_used + 1,
        usecase_reads = usecase_reads + 1,
        month_used = case when month >= $2 then month_used else 0 end + 1, month = greatest(month, $2),
        day_used = case when day >= $3 then day_used else 0 end + 1, day = greatest(day, $3)
    where id = $1 and merged_into is null and lifetime_used < $4 and usecase_reads < $5
        and (month < $2 or month_used < $6) and (day < $3 or day_used < $7)
    returning day, day_used
"""

COUNT_DAY = """
    insert into usage_days (tenant_id, day, used) values ($1, $2, $3)
    on conflict (tenant_id, day) do update set used = excluded.used
"""

# All of the above in one round trip. `answer` is the statement that reads the requested rows.
ALL_AT_ONCE = """
    with caller as (
        select tenants.id, tier from api_keys join tenants on tenants.id = api_keys.tenant_id
        where hash = $1 and revoked_ms is null and (expires_ms is null or expires_ms > $2)
    ), cap (tier, lifetime, reads, monthly, daily) as (
        values {caps}
    ), counted as (
        update tenants set
            lifetime_used = lifetime_used + 1,
            usecase_reads = usecase_reads + 1,
            month_used = case when month >= $3 then month_used else 0 end + 1, month = greatest(month, $3),
            day_used = case when day >= $4 then day_used else 0 end + 1, day = greatest(day, $4)
        from caller join cap using (tier)
        where tenants.id = caller.id and merged_into is null and lifetime_used < lifetime and usecase_reads < reads
            and (month < $3 or month_used < monthly) and (day < $4 or day_used < daily)
        returning tenants.id, day, day_used
    ), counted_day as (
        insert into usage_days (tenant_id, day, used) select id, day, day_used from counted
        on conflict (tenant_id, day) do update set used = excluded.used
    )
    select exists (select from caller) as known, exists (select from counted) as counted,
        (select document::text from usecases where kind = 'usecases' and slug = $5) as document
"""


class Value(BaseModel):
    amount: str
    label: str
    basis: str
    kind: Literal["reported", "illustrative"]


class Guide(BaseModel):
    title: str
    category: str
    opportunity: str
    audience: str
    platforms: list[str]
    botSlugs: list[str]  # noqa: N815 - fields are named as on the wire
    steps: list[str]
    prompt: str
    value: Value | None = None


class UseCase(BaseModel):
    slug: str
    title: str
    who: str
    handle: str
    roi: str
    sourceUrl: str  # noqa: N815
    addedAt: int  # noqa: N815
    guide: Guide | None = None


class UseCasePage(BaseModel):
    data: list[UseCase]
    nextCursor: str | None  # noqa: N815


Authorization = Annotated[str | None, Header()]
Limit = Annotated[int, Query(ge=1, le=100)]


def key_hash(authorization: str | None) -> bytes:
    scheme, _, key = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise HTTPException(401, "The Authorization header is not 'Bearer <key>'.")
    return sha256(key.encode()).digest()


def windows() -> tuple[int, int, int]:
    """Now in epoch milliseconds, with the month and the day as numbered in the tables."""
    now = time.time()
    utc = time.gmtime(now)
    return int(now * 1000), utc.tm_year * 12 + utc.tm_mon - 1, int(now // 86_400)


def caps_of(tier: str) -> tuple[int, ...]:
    """Lifetime, use case reads, month and day."""
    return tuple(CAPS.get(tier, {}).get(name, NO_CAP) for name in ("lifetime", "usecase_reads", "monthly", "daily"))


def position_of(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return NO_CAP, ""
    try:
        added_ms, slug = json.loads(urlsafe_b64decode(cursor))
    except ValueError:
        raise HTTPException(400, "The cursor is malformed.") from None
    return int(added_ms), str(slug)


def next_cursor(rows: list[Any], limit: int) -> str | None:
    """The start of the next page if more than `limit` rows were found."""
    if len(rows) <= limit:
        return None
    last = rows[limit - 1]
    return urlsafe_b64encode(json.dumps([last["added_ms"], last["slug"]]).encode()).decode()


# Shared by both idioms: a page of the list or of a search, with or without a key.


async def charge(connection: Any, authorization: str) -> None:
    """Count one read of a use case in the caller's transaction. Raises if the key or a cap forbids it."""
    now_ms, month, day = windows()
    tenant = await connection.fetchrow(AUTHENTICATE, key_hash(authorization), now_ms)
    if tenant is None:
        raise HTTPException(401, "This API key does not exist, was revoked or has expired.")
    counted = await connection.fetchrow(COUNT, tenant["id"], month, day, *caps_of(tenant["tier"]))
    if counted is None:
        raise HTTPException(403, "A cap of this key is used up.")
    await connection.execute(COUNT_DAY, tenant["id"], counted["day"], counted["day_used"])


async def rows_of_page(
    pool: Any, authorization: str | None, q: str | None, limit: int, cursor: str | None
) -> list[Any]:
    arguments = (SEARCH, q, limit, CANDIDATES) if q else (LIST, *position_of(cursor), limit + 1)
    rows: list[Any]
    if authorization is None:
        rows = await pool.fetch(*arguments)
        return rows
    async with pool.acquire() as connection, connection.transaction():
        await charge(connection, authorization)
        rows = await connection.fetch(*arguments)
        return rows


# `models`.


def add_models(app: FastAPI) -> None:
    @app.get("/api/v1/usecases", response_model_exclude_unset=True)
    async def list_usecases(
        pool: Pool,
        authorization: Authorization = None,
        q: str | None = None,
        limit: Limit = 20,
        cursor: str | None = None,
    ) -> UseCasePage:
        rows = await rows_of_page(pool, authorization, q, limit, cursor)
        return UseCasePage(
            data=[UseCase.model_validate_json(row["document"]) for row in rows[:limit]],
            nextCursor=next_cursor(rows, limit),
        )

    @app.get("/api/v1/usecases/{slug}", response_model_exclude_unset=True)
    async def read_usecase(slug: str, pool: Pool, authorization: Authorization = None) -> UseCase:
        async with pool.acquire() as connection, connection.transaction():
            if authorization is not None:
                await charge(connection, authorization)
            document = await connection.fetchval(READ, slug)
        if document is None:
            raise HTTPException(404, "There is no use case with this slug.")
        return UseCase.model_validate_json(document)


# `raw`.


def add_raw(app: FastAPI) -> None:
    tiers = ", ".join(f"('{tier}', {', '.join(f'{cap}::bigint' for cap in caps_of(tier))})" for tier in TIERS)
    all_at_once = ALL_AT_ONCE.format(caps=tiers)

    def found(document: str | None) -> Response:
        if document is None:
            raise HTTPException(404, "There is no use case with this slug.")
        return Response(document, media_type="application/json")

    @app.get("/api/v1/usecases")
    async def list_usecases(
        pool: Pool,
        authorization: Authorization = None,
        q: str | None = None,
        limit: Limit = 20,
        cursor: str | None = None,
    ) -> Response:
        rows = await rows_of_page(pool, authorization, q, limit, cursor)
        documents = ",".join([row["document"] for row in rows[:limit]])
        more = json.dumps(next_cursor(rows, limit))
        return Response(f'{{"data":[{documents}],"nextCursor":{more}}}', media_type="application/json")

    @app.get("/api/v1/usecases/{slug}")
    async def read_usecase(slug: str, pool: Pool, authorization: Authorization = None) -> Response:
        if authorization is None:
            return found(await pool.fetchval(READ, slug))
        now_ms, month, day = windows()
        row = await pool.fetchrow(all_at_once, key_hash(authorization), now_ms, month, day, slug)
        if not row["known"]:
            raise HTTPException(401, "This API key does not exist, was revoked or has expired.")
        if not row["counted"]:
            raise HTTPException(403, "A cap of this key is used up.")
        return found(row["document"])


TIERS = ("anonymous", "claimed", "upgraded")
