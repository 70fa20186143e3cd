-- What the start and `doctor` ask about the server itself. Every role may read all of it.

-- name: now
-- The server's clock, in milliseconds.
select (extract(epoch from clock_timestamp()) * 1000)::bigint

-- name: has_nodes
-- Whether the tables of `newest` exist, which a new or old database lacks.
select to_regclass('schema_migrations') is not null and to_regclass('nodes') is not null

-- name: newest
-- The time of the newest migration or heartbeat, in milliseconds.
select (extract(epoch from greatest(
    (select max(applied_at) from schema_migrations), (select max(beaten_at) from nodes)
)) * 1000)::bigint

-- name: created
-- The time of the first migration, in milliseconds.
select (extract(epoch from min(applied_at)) * 1000)::bigint from schema_migrations

-- name: archiving
-- Whether the server archives its write-ahead log, and whether this role may read how that goes.
select
    current_setting('archive_mode') <> 'off' as enabled,
    current_setting('archive_command') <> '' or coalesce(current_setting('archive_library', true), '') <> '' as has_target,
    has_table_privilege('pg_catalog.pg_stat_archiver', 'select')
        and has_function_privilege('pg_catalog.pg_stat_get_archiver()', 'execute') as readable

-- name: archived
-- The ages of the last success and the last failure to archive a segment, in seconds, and the segment that failed.
select
    extract(epoch from now() - last_archived_time)::float8 as archived_seconds,
    extract(epoch from now() - last_failed_time)::float8 as failed_seconds,
    last_failed_wal as failed_segment
from pg_stat_archiver

-- name: access
-- What the server and its settings let this role do, apart from the setting of this session. Without a right on any schema of
-- search_path there is no current one.
select
    pg_is_in_recovery() as is_standby,
    (select reset_val = 'on' from pg_settings where name = 'default_transaction_read_only') as is_read_only,
    current_user::text as role,
    coalesce(current_schema(), 'public')::text as schema,
    current_schema() is not null as uses,
    coalesce(has_schema_privilege(current_schema(), 'create'), false) as creates

-- name: missing_rights
-- What this role may not do with those of the relations and functions named that exist: each object with what is missing.
-- Sequences are not asked about: all belong to identity columns, which need no right on theirs.
with home as (
    select relnamespace as schema from pg_class where oid = to_regclass('schema_migrations')
), relations as (
    select oid, relname, relkind, relowner from pg_class, home
    where relnamespace = schema and relname = any ($1::text[]) and relkind in ('r', 'p', 'v')
), rights as (
    select relations.oid, 'table ' || relname as object, wanted, has_table_privilege(relations.oid, wanted) as is_had
    from relations, unnest(array['select', 'insert', 'update', 'delete']) as wanted
    where relkind <> 'v' or wanted = 'select'
    union all
    select oid, 'table ' || relname, 'ownership (new partitions need it)', pg_has_role(relowner, 'usage')
    from relations where relkind = 'p'
    union all
    select pg_proc.oid, 'function ' || proname, 'execute', has_function_privilege(pg_proc.oid, 'execute')
    from pg_proc, home where pronamespace = schema and proname = any ($1::text[])
)
select object, string_agg(wanted, ', ' order by wanted) as rights from rights where not is_had group by oid, object order by object
