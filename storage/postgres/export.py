"""The rows of one account in each table, as JSON, for an export.

A page reads as many rows as it has, whatever else the account has. Mails, sessions and logins of devices are read as a whole,
because no index has those of an account in an order. They are few. A session begins with a mailed code, of which a mailbox
gets 20 a day, or 200 from networks that it has used, and goes 30 days after its end. Mails go after 7 days: codes, 20 notices
an hour and node, and those about 20 reservations a day. Logins of devices go after a day: an address starts 10 an hour.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from actors.accounts.messages import Exported
from actors.accounts.store import EXPORTED, SECRET
from actors.values import Account
from storage.connection.pool import Database, Row

PERSON = "with person as materialized (select $1::text as tenant_id, $2::text as email)"
OF_TENANT = "tenant_id = (select tenant_id from person)"
OF_EMAIL = "email = (select email from person)"
SESSIONS = f"select id from sessions where {OF_EMAIL}"
WEBHOOKS = f"select id from webhooks where {OF_TENANT}"
DELIVERED = (
    "(select booking_id, day, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks from deliveries "
    "where booking_id = any ($5::text[]) group by booking_id, day) as each"
)
BY_SITE = (
    "(select booking_id, day, site, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks "
    "from site_deliveries where booking_id = any ($5::text[]) group by booking_id, day, site) as each"
)
SENT = (
    f"({WEBHOOKS}) as webhook cross join lateral (select * from webhook_deliveries where webhook_id = webhook.id "
    "and seq > case when webhook.id = split_part($3, ' ', 1) then ('0' || split_part($3, ' ', 2))::bigint else -1 end "
    "order by seq limit $4) as each"
)
"""The next deliveries of each webhook, because their index begins with it."""


def of_each(table: str, column: str) -> str:
    """The rows of each parent. `offset 0` makes Postgres look into the index of the column for each."""
    return (
        "unnest($5::text[], $6::text[]) as parent (id, at) cross join lateral "
        f"(select * from {table} where {column} = parent.id offset 0) as each"
    )


def padded(column: str, digits: int = 16) -> str:
    """A number as a text that sorts as it does."""
    return f"lpad({column}::text, {digits}, '0')"


def joined(*texts: str) -> str:
    """The place of a row, from texts."""
    return f"""({" || ' ' || ".join(texts)})"""


@dataclass(frozen=True, slots=True)
class Index:
    """The condition of rows after a place, and their order, if an index has them in the order of their place."""

    after: str
    order: str


def index(*columns: tuple[str, str]) -> Index:
    """The index of columns, given with their types. A place has their values, with spaces between them."""
    words = (f"split_part($3, ' ', {number})" for number in range(1, len(columns) + 1))
    values = (
        word if kind == "text" else f"('0' || {word})::{kind}" for word, (_, kind) in zip(words, columns, strict=True)
    )
    order = ", ".join(name for name, _ in columns)
    return Index(f"({order}) > ({', '.join(values)})", order)


@dataclass(frozen=True, slots=True)
class Source:
    """The condition on an account's rows, and the text that orders them, their place. `rows` stands in `from` in place of the
    table; a row is `each`.

    Rows of a table that can have many for each of many parents are read for some parents after others. `parents` is the
    statement for the ids and places of the next ones: it takes the tenant, the email, a place and a number of rows. The
    condition is on these ids, $5, and a place begins with that of the parent, in $6, and has `words` of its own.
    """

    condition: str
    place: str = "id"
    rows: str = ""
    index: Index | None = None
    parents: str = ""
    words: int = 0

    def statement(self, table: str) -> str:
        """Takes the tenant, the email, the last place and the number of rows. Only the rows of the page become JSON."""
        by = self.index or Index(f'{self.place} collate "C" > $3', f'{self.place} collate "C"')
        return (
            f"{PERSON} select place, to_jsonb(each) - '{{{','.join(sorted(SECRET))}}}'::text[] as row from ("
            f"select {self.place} as place, each from {self.rows or f'{table} as each'} "
            f"where {self.condition} and {by.after} order by {by.order} limit $4) as page"
        )


MADE = index(("created_ms", "bigint"), ('id collate "C"', "text"))
RECORDED = index(("created_ms", "bigint"), ("id", "text"))
"""In the order of the index, which may have another collation."""

AT = joined(padded("created_ms"), "id")
OF_RECORD = joined("parent.at", padded("each.created_ms"), "each.id")
BY_OTHERS = "each.actor_email is distinct from (select email from person)"
KEYS = (
    f"{PERSON} select id, {AT} as place from api_keys where {OF_TENANT} and {MADE.after} order by {MADE.order} limit $4"
)
SUBMISSIONS = (
    f"{PERSON} select id, {AT} as place from catalog_submissions where {OF_TENANT} and {RECORDED.after} "
    f"order by {RECORDED.order} limit $4"
)
BY_ID = 'id collate "C" > $3 order by id collate "C" limit $4'
BOOKINGS = f"{PERSON} select id, id as place from bookings where {OF_TENANT} and {BY_ID}"
OTHERS = (
    f"{PERSON} select id, id as place from (select email as id from person union all select tenant_id from person union all "
    f"{SESSIONS} union all {WEBHOOKS} union all select id from sponsors where {OF_TENANT} union all "
    f"select id from campaigns where {OF_TENANT}) as named where {BY_ID}"
)
"""All else that a record can be about. An account has some hundreds of them at most."""

SOURCES: Mapping[str, Source] = {
    "accounts": Source(OF_EMAIL, "email"),
    "accepted_terms": Source(OF_TENANT, "version"),
    "mail_choices": Source(OF_EMAIL, "email"),
    "tenants": Source("(id = $1 or merged_into = $1)"),
    "usage_days": Source(OF_TENANT, padded("day", 10), index=index(("day", "integer"))),
    "key_usage_days": Source(
        "tenant_id = $1", joined("key_id", padded("day", 10)), index=index(("key_id", "text"), ("day", "integer"))
    ),
    "administrators": Source(OF_EMAIL, "email"),
    "api_keys": Source(OF_TENANT, AT, index=MADE),
    "key_uses": Source("true", "parent.at", of_each("key_uses", "key_id"), parents=KEYS),
    "claims": Source("true", "parent.at", of_each("claims", "key_id"), parents=KEYS),
    "sign_in_codes": Source(OF_EMAIL, "encode(browser, 'hex')"),
    "sign_in_links": Source(OF_EMAIL, "encode(token_hash, 'hex')"),
    "sessions": Source(OF_EMAIL),
    "passkeys": Source(OF_EMAIL),
    "pending_sign_ins": Source(OF_EMAIL),
    "devices": Source(OF_EMAIL),
    "device_guesses": Source(f"session_id in ({SESSIONS})", "session_id"),
    "authorizations": Source(OF_EMAIL, AT, index=RECORDED),
    "account_deletions": Source(OF_TENANT, "tenant_id"),
    "sponsors": Source(OF_TENANT),
    "billing_details": Source(OF_TENANT, "tenant_id"),
    "shared_reports": Source(OF_TENANT),
    "campaigns": Source(OF_TENANT),
    "bookings": Source(OF_TENANT),
    "booking_keys": Source(OF_TENANT, joined("operation", "key"), index=index(("operation", "text"), ("key", "text"))),
    "slot_weeks": Source(
        "true",
        joined("parent.at", padded("week_ms")),
        of_each("slot_weeks", "booking_id"),
        parents=BOOKINGS,
        words=1,
    ),
    "payment_events": Source(
        "true",
        joined("parent.at", "each.id"),
        of_each("payment_events", "booking_id"),
        parents=BOOKINGS,
        words=1,
    ),
    "invoices": Source(
        OF_TENANT, joined(padded("issued_ms"), "number"), index=index(("issued_ms", "bigint"), ("number", "text"))
    ),
    "delivery_days": Source("true", joined("booking_id", padded("day", 10)), DELIVERED, parents=BOOKINGS, words=1),
    "event_filtered": Source(
        "true",
        joined("parent.at", padded("day", 10)),
        of_each("event_filtered", "booking_id"),
        parents=BOOKINGS,
        words=1,
    ),
    "webhooks": Source(OF_TENANT),
    "webhook_deliveries": Source("true", joined("webhook_id", padded("seq", 19)), SENT),
    "webhook_events": Source(OF_TENANT, padded("seq", 19), index=index(("seq", "bigint"))),
    "catalog_submissions": Source(OF_TENANT, AT, index=RECORDED),
    "event_site_counts": Source(
        "true", joined("booking_id", padded("day", 10), "site"), BY_SITE, parents=BOOKINGS, words=2
    ),
    "outbox": Source("recipient = (select email from person)"),
    "audit": Source("actor_email = $2", AT, index=RECORDED),
}

MORE: Mapping[str, Sequence[Source]] = {
    "claims": (
        Source(f"{OF_EMAIL} and not exists (select from api_keys where id = key_id and {OF_TENANT})", "key_id"),
    ),
    "audit": (
        Source(BY_OTHERS, OF_RECORD, of_each("audit", "target_id"), parents=OTHERS, words=2),
        Source(BY_OTHERS, OF_RECORD, of_each("audit", "target_id"), parents=KEYS, words=2),
        Source(BY_OTHERS, OF_RECORD, of_each("audit", "target_id"), parents=BOOKINGS, words=2),
        Source(BY_OTHERS, OF_RECORD, of_each("audit", "target_id"), parents=SUBMISSIONS, words=2),
    ),
}
"""Rows of the same tables that are found in other ways, and follow the others. Places of these tables begin with a number."""

SOME = 200
"""Parents whose rows are read at a time."""

STATEMENTS = {
    table: [source.statement(table) for source in (SOURCES[table], *MORE.get(table, ()))] for table in EXPORTED
}


async def export(database: Database, account: Account, table: str, after: str, limit: int) -> Sequence[Exported]:
    """Rows of one table, as `AccountStore.export` says."""
    if table not in MORE:
        return await _rows(database, account, SOURCES[table], STATEMENTS[table][0], after, limit)
    sources, (begun, _, after) = (SOURCES[table], *MORE[table]), after.partition(" ")
    found: list[Exported] = []
    for number in range(int(begun or 0), len(sources)):
        if len(found) < limit:
            statement, room = STATEMENTS[table][number], limit - len(found)
            rows = await _rows(database, account, sources[number], statement, after, room)
            found += [Exported(f"{number} {row.place}", row.row) for row in rows]
        after = ""
    return found


async def _rows(
    database: Database, account: Account, source: Source, statement: str, after: str, limit: int
) -> Sequence[Exported]:
    of_account = account.tenant_id, account.email
    if not source.parents:
        return _exported(await database.fetch(statement, *of_account, after, limit))
    at = after.rsplit(" ", source.words)[0]
    parents, found, more = [(at.rpartition(" ")[2], at)] if at else [], list[Exported](), True
    while more and len(found) < limit:
        following = await database.fetch(source.parents, *of_account, at, SOME)
        more = len(following) == SOME
        parents += [(row["id"], row["place"]) for row in following]
        ids, places = [parent[0] for parent in parents], [parent[1] for parent in parents]
        values = (ids, places) if "$6" in statement else (ids,)
        found += _exported(await database.fetch(statement, *of_account, after, limit - len(found), *values))
        at, parents = places[-1] if places else at, []
    return found


def _exported(rows: Sequence[Row]) -> list[Exported]:
    return [Exported(row["place"], json.loads(row["row"])) for row in rows]
