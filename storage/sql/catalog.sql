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

-- name: search
-- Rank the best candidates: matches in the title first, then the newest others. Ranking reads whole documents, so $4
-- limits the number of candidates and thereby the cost of common words.
with query as materialized (
    select websearch_to_tsquery('english', $2) as wanted
), candidates as materialized (
    select slug, added_ms, words
    from query, catalog
    where kind = $1 and words @@ wanted
    order by title_words @@ wanted desc, added_ms desc, slug
    limit $4
)
select slug from query, candidates
order by ts_rank(words, wanted) desc, added_ms desc, slug
limit $3

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
