-- Use cases and bot templates; `kind` selects the partition.

-- name: revision
-- The revision of the newest change.
select revision from catalog_revision

-- name: one_snapshot
-- Make all statements of this transaction see the same data. Must be its first statement.
set transaction isolation level repeatable read, read only

-- name: load
-- Open a cursor over one kind, in list order.
select slug, added_ms, convert_to(document::text, 'UTF8') as document
from catalog where kind = $1 order by added_ms desc, slug

-- name: present
-- Which of these slugs exist.
select slug from catalog where kind = $1 and slug = any ($2::text[])

-- name: import_timeouts
-- Raise the timeouts: an import waits for another one, and its chunks can be slow.
set local lock_timeout = '540s'; set local statement_timeout = '600s'

-- name: lock_revision
-- Allow one import at a time.
select revision from catalog_revision for update

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
