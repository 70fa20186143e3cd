-- Use cases and bot templates; `kind` selects the partition.

-- name: revision
-- The revision of the newest change.
select revision from catalog_revision

-- name: state
-- The same, and a number that a restore changes: it is of the cluster, of its timeline, which a copy of the cluster that recovers
-- leaves, and of the table, which a dump makes anew.
select revision, hashtext(concat_ws(' ',
    (select system_identifier from pg_control_system()),
    case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end,
    'catalog_changes'::regclass::oid
)) as epoch
from catalog_revision

-- name: revisions
-- The same, and the revision of the newest change of sponsorship visible to the public: a node asks for both at once.
select revision, hashtext(concat_ws(' ',
    (select system_identifier from pg_control_system()),
    case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end,
    'catalog_changes'::regclass::oid
)) as epoch, (select revision from sponsorship_revision) as sponsorship
from catalog_revision

-- name: one_snapshot
-- Make all statements of this transaction see the same data. Must be its first statement.
set transaction isolation level repeatable read, read only

-- name: horizon
-- The number up to which removals may have been deleted.
select number from catalog_forgotten

-- name: changes
-- Open a cursor over the changes with numbers above $1, in order. The entry is null for a removed one.
select changes.kind, changes.slug, number, change, at_ms, added_ms, convert_to(catalog.document::text, 'UTF8') as document
from catalog_changes as changes left join catalog on catalog.kind = changes.kind and catalog.slug = changes.slug
where number > $1 order by number

-- name: present
-- Which of these slugs exist.
select slug from catalog where kind = $1 and slug = any ($2::text[])

-- name: import_timeouts
-- Raise the timeouts: an import waits for another one, its chunks can be slow, and a busy machine makes the next chunk late.
set local lock_timeout = '540s'; set local statement_timeout = '600s'; set local idle_in_transaction_session_timeout = '60s'

-- name: lock_revision
-- Allow one import at a time.
select revision from catalog_revision for update

-- name: committed_import
-- The record of an import that has committed.
select changes from audit where id = $1

-- name: at
-- The time of the changes that this transaction makes, for the triggers that write them down.
select set_config('catalog.now_ms', $1::bigint::text, true)

-- name: entries
-- These entries, removed ones too, with the time of their newest change.
select changes.kind, changes.slug, at_ms, catalog.slug is null as removed,
    coalesce(added_ms, (changes.document ->> 'addedAt')::bigint) as added_ms,
    convert_to(coalesce(catalog.document, changes.document)::text, 'UTF8') as document
from unnest($1::text[], $2::text[]) as named (kind, slug)
join catalog_changes as changes on changes.kind = named.kind and changes.slug = named.slug
left join catalog on catalog.kind = changes.kind and catalog.slug = changes.slug

-- name: compare
-- The number of entries that a chunk adds and changes.
select count(*) filter (where kept.slug is null) as added,
    count(*) filter (where kept.document::text <> made.document) as changed
from unnest($2::text[], $3::text[]) as made (slug, document)
left join catalog as kept on kept.kind = $1 and kept.slug = made.slug

-- name: save
-- Write the new and changed entries of a chunk. Unchanged ones are skipped, because their text search vectors are
-- costly to build.
insert into catalog (kind, slug, added_ms, document)
select $1, slug, added_ms, document::json from unnest($2::text[], $3::text[], $4::bigint[]) as made (slug, document, added_ms)
where not exists (
    select from catalog as kept
    where kept.kind = $1 and kept.slug = made.slug and kept.document::text = made.document
)
order by slug
on conflict (kind, slug) do update set added_ms = excluded.added_ms, document = excluded.document

-- name: remove
-- Delete these entries of a kind.
delete from catalog where kind = $1 and slug = any ($2::text[])

-- name: count_absent
-- The number of entries of a kind that are not among these.
select count(*) from catalog
where kind = $1 and not exists (select from unnest($2::text[]) as kept (slug) where kept.slug = catalog.slug)

-- name: remove_absent
-- Delete the entries of a kind that are not among these.
delete from catalog
where kind = $1 and not exists (select from unnest($2::text[]) as kept (slug) where kept.slug = catalog.slug)

-- name: advance
-- Advance the revision, and notify all nodes on commit.
update catalog_revision set revision = revision + 1 returning revision, pg_notify('catalog', 'catalog')
