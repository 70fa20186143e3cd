"""Columns that are compared with each other have one collation. Otherwise Postgres cannot use the index of one of them."""

from storage.connection.pool import Connection, Database

NAMED_BY = """
with columns as (
    select relname as table, relkind, attname as column, attcollation, exists (
        select from pg_index where indrelid = pg_class.oid and indisprimary and indkey[0] = attnum and indnkeyatts = 1
    ) as is_key
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'p') and not relispartition and attnum > 0
        and not attisdropped and atttypid = 'text'::regtype
)
select other.table || '.' || other.column as named from columns as key join columns as other
    on other.column in (regexp_replace(key.table, 'ies$', 'y') || '_id', regexp_replace(key.table, 's$', '') || '_id')
    or (key.column <> 'id' and other.column = key.column and other.table <> key.table)
where key.is_key and key.attcollation <> other.attcollation order by 1
"""
"""Columns that are named after the key of a table and have another collation than it."""

REFERRING = """
select conname as named from pg_constraint cross join lateral unnest(conkey, confkey) as pair (here, there)
join pg_attribute as here on here.attrelid = conrelid and here.attnum = pair.here
join pg_attribute as there on there.attrelid = confrelid and there.attnum = pair.there
where contype = 'f' and here.attcollation <> there.attcollation
"""
VIEWED = """
select relname as view, attname as column from pg_attribute join pg_class on pg_class.oid = attrelid
where relkind = 'v' and relnamespace = 'public'::regnamespace and attname like '%\\_id'
"""

OF_EVENTS = {"deliveries.booking_id", "events.booking_id", "site_deliveries.booking_id"}
"""Ids of bookings in `event_bookings`, which is found by its own index and never leads to `bookings`."""


async def names(database: Database, statement: str) -> set[str]:
    return {row["named"] for row in await database.fetch(statement)}


async def read_as_a_whole(database: Database) -> set[str]:
    """Ids in views that lead to no index of one of the tables that the view puts together."""

    async def work(connection: Connection) -> set[str]:
        await connection.execute("set local enable_seqscan = off")
        found = set()
        for view, column in await connection.fetch(VIEWED):
            plan = await connection.fetch(f"explain select * from {view} where {column} = any ('{{x}}'::text[])")
            if any(word in row[0] for row in plan for word in ("Seq Scan", "Filter:")):
                found.add(f"{view}.{column}")
        return found

    return await database.transact(work)


async def test_what_names_a_row_has_the_collation_of_its_key(database: Database) -> None:
    assert await names(database, REFERRING) == set()
    assert await names(database, NAMED_BY) == OF_EVENTS
    assert await read_as_a_whole(database) == set()


async def test_a_column_with_another_collation_is_found(database: Database) -> None:
    """As the counts of the first layout were, which a view put together with those of the second."""
    await database.transact(
        lambda connection: connection.execute("""
        create table favourites (campaign_id text collate "C" references campaigns (id));
        create view counts as select booking_id from delivery_days union all select id from event_bookings
        """)
    )
    assert await names(database, REFERRING) == {"favourites_campaign_id_fkey"}
    assert await names(database, NAMED_BY) == {*OF_EVENTS, "counts.booking_id", "favourites.campaign_id"}
    assert await read_as_a_whole(database) == {"counts.booking_id"}
