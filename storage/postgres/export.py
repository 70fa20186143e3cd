"""The rows of one account in each table, as JSON, for an export."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from actors.accounts.messages import Exported
from actors.accounts.store import EXPORTED, SECRET
from actors.values import Account
from storage.connection.pool import Database, Row

KEYS = "select id from api_keys where tenant_id = (select tenant_id from person)"
SESSIONS = "select id from sessions where email = (select email from person)"
BOOKINGS = "select id from bookings where tenant_id = (select tenant_id from person)"
CAMPAIGNS = "select id from campaigns where tenant_id = (select tenant_id from person)"
SPONSORS = "select id from sponsors where tenant_id = (select tenant_id from person)"
DELIVERED = (
    "(select booking_id, day, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks from deliveries "
    "where booking_id = any ($5::text[]) group by booking_id, day)"
)
SUBMISSIONS = "select id from catalog_submissions where tenant_id = (select tenant_id from person)"
WEBHOOKS = "select id from webhooks where tenant_id = (select tenant_id from person)"
BY_SITE = (
    "(select booking_id, day, site, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks "
    "from site_deliveries where booking_id = any ($5::text[]) group by booking_id, day, site)"
)
PERSON = "select email from person union all select tenant_id from person"
RECORDS = "(created_ms, id) > (('0' || split_part($3, ' ', 1))::bigint, split_part($3, ' ', 2))", "created_ms, id"
BY_OTHERS = (
    f"select * from audit where actor_email is distinct from $2 and target_id in ({PERSON} union all {KEYS} union all "
    f"{SESSIONS} union all {SPONSORS} union all {CAMPAIGNS} union all {BOOKINGS} union all {WEBHOOKS} union all "
    f"{SUBMISSIONS})"
)
BY_OWNER = f"(select * from audit where actor_email = $2 and {RECORDS[0]} order by {RECORDS[1]} limit $4)"
AUDITED = f"({BY_OWNER} union all {BY_OTHERS})"


@dataclass(frozen=True, slots=True)
class Source:
    """The condition on an account's rows of a table, and the text that orders them. `rows` stands in for a table whose rows
    are put together from others."""

    condition: str
    place: str = "id"
    rows: str = ""
    index: tuple[str, str] | None = None
    """The condition of rows after a place, and their order, if an index has them in the order of their place."""

    def statement(self, table: str) -> str:
        """Takes the tenant, the email, the last place and the number of rows. Only the rows of the page become JSON."""
        after, order = self.index or (f'{self.place} collate "C" > $3', f'{self.place} collate "C"')
        return (
            f"with person as materialized (select $1::text as tenant_id, $2::text as email) "
            f"select place, to_jsonb(each) - '{{{','.join(sorted(SECRET))}}}'::text[] as row from ("
            f"select {self.place} as place, each from {self.rows or table} as each "
            f"where {self.condition} and {after} order by {order} limit $4) as page"
        )


KEY_DAYS = "(key_id, day) > (split_part($3, ' ', 1), ('0' || split_part($3, ' ', 2))::integer)", "key_id, day"

_OF_TENANT = "tenant_id = (select tenant_id from person)"
_OF_EMAIL = "email = (select email from person)"

SOURCES: Mapping[str, Source] = {
    "accounts": Source(_OF_EMAIL, "email"),
    "mail_choices": Source(_OF_EMAIL, "email"),
    "tenants": Source("(id = $1 or merged_into = $1)"),
    "usage_days": Source(_OF_TENANT, "lpad(day::text, 10, '0')"),
    "key_usage_days": Source("tenant_id = $1", "(key_id || ' ' || lpad(day::text, 10, '0'))", index=KEY_DAYS),
    "administrators": Source(_OF_EMAIL, "email"),
    "api_keys": Source(_OF_TENANT),
    "key_uses": Source(f"key_id in ({KEYS})", "key_id"),
    "claims": Source(f"key_id in ({KEYS} union all select key_id from claims where {_OF_EMAIL})", "key_id"),
    "sign_in_codes": Source(_OF_EMAIL, "encode(browser, 'hex')"),
    "sign_in_links": Source(_OF_EMAIL, "encode(token_hash, 'hex')"),
    "sessions": Source(_OF_EMAIL),
    "passkeys": Source(_OF_EMAIL),
    "pending_sign_ins": Source(_OF_EMAIL),
    "devices": Source(_OF_EMAIL),
    "device_guesses": Source(f"session_id in ({SESSIONS})", "session_id"),
    "account_deletions": Source(_OF_TENANT, "tenant_id"),
    "sponsors": Source(_OF_TENANT),
    "campaigns": Source(_OF_TENANT),
    "bookings": Source(_OF_TENANT),
    "booking_keys": Source(_OF_TENANT, "(operation || ' ' || key)"),
    "slot_weeks": Source(f"booking_id in ({BOOKINGS})", "(booking_id || ' ' || lpad(week_ms::text, 16, '0'))"),
    "payment_events": Source(f"booking_id in ({BOOKINGS})"),
    "invoices": Source(_OF_TENANT, "number"),
    "delivery_days": Source("true", "(booking_id || ' ' || lpad(day::text, 10, '0'))", DELIVERED),
    "webhooks": Source(_OF_TENANT),
    "webhook_deliveries": Source(f"webhook_id in ({WEBHOOKS})"),
    "catalog_submissions": Source(_OF_TENANT),
    "event_site_counts": Source("true", "(booking_id || ' ' || lpad(day::text, 10, '0') || ' ' || site)", BY_SITE),
    "outbox": Source("recipient = (select email from person)"),
    "audit": Source("true", "(lpad(created_ms::text, 16, '0') || ' ' || id)", AUDITED, RECORDS),
}

BY_BOOKINGS = ("delivery_days", "event_site_counts")
"""Tables with many rows for each booking, whose places begin with it. They are read for some bookings after others."""

NEXT_BOOKINGS = 'select id from bookings where tenant_id = $1 and id collate "C" > $2 order by id collate "C" limit $3'
SOME = 200
"""Bookings whose rows are read at a time."""

STATEMENTS = {table: SOURCES[table].statement(table) for table in EXPORTED}


async def export(database: Database, account: Account, table: str, after: str, limit: int) -> Sequence[Exported]:
    """Rows of one table, as `AccountStore.export` says."""
    statement, of_account = STATEMENTS[table], (account.tenant_id, account.email, after)
    if table not in BY_BOOKINGS:
        return _exported(await database.fetch(statement, *of_account, limit))
    found: list[Exported] = []
    ids, more = [after.partition(" ")[0]], True
    while more and len(found) < limit:
        following = await database.fetch(NEXT_BOOKINGS, account.tenant_id, ids[-1], SOME)
        more = len(following) == SOME
        ids += [row["id"] for row in following]
        found += _exported(await database.fetch(statement, *of_account, limit - len(found), ids))
        ids = ids[-1:]
        of_account = (account.tenant_id, account.email, f"{ids[0]} ~")
    return found


def _exported(rows: Sequence[Row]) -> list[Exported]:
    return [Exported(row["place"], json.loads(row["row"])) for row in rows]
