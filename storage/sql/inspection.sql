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
