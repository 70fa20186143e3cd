-- Use cases and bot templates; `kind` selects the partition.

-- name: revision
-- The revision of the newest change.
select revision from catalog_revision

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

-- name: load_words
-- Open a cursor over the words of one kind, in order.
select word, entries from catalog_vocabulary where kind = $1 order by word

-- name: search
-- Rank the best candidates: matches in the title first, then the newest others. Ranking reads whole documents, so $4
-- limits the number of candidates and thereby the cost of common words. An entry of the category $5 has the category's words,
-- which the index finds; only then is its document read.
with query as materialized (
    select wanted, case when $5 = '' then wanted else wanted && plainto_tsquery('english', $5) end as matched
    from websearch_to_tsquery('english', $2) as wanted
    where numnode(wanted) > 0
), candidates as materialized (
    select slug, added_ms, words
    from query, catalog
    where kind = $1 and words @@ matched
        and ($5 = '' or coalesce(document #>> '{guide,category}', document ->> 'category') = $5)
    order by title_words @@ wanted desc, added_ms desc, slug
    limit $4
)
select slug from query, candidates
order by ts_rank(words, wanted) desc, added_ms desc, slug
limit $3

-- name: stems
-- The words of a text that is searched for, as the index has them, in order.
select lexeme from unnest(to_tsvector('english', $1)) order by positions[1], lexeme

-- name: search_most
-- Rank the entries that have most words: those that match $2, in the category $6. The score of an entry is the sum of the
-- weights ($5) of the terms ($4) that it has, more for those in its title. The words of a candidate are copied out of their
-- storage once, because each term reads them.
with terms as materialized (
    select term::tsquery as term, weight from unnest($4::text[], $5::float8[]) as offered (term, weight)
), query as materialized (
    select wanted, case when $6 = '' then wanted else wanted && plainto_tsquery('english', $6) end as matched
    from cast($2::text as tsquery) as wanted
), candidates as materialized (
    select slug, added_ms, words
    from query, catalog
    where kind = $1 and words @@ matched
        and ($6 = '' or coalesce(document #>> '{guide,category}', document ->> 'category') = $6)
    order by title_words @@ wanted desc, added_ms desc, slug
    limit $7
), copied as materialized (
    select slug, added_ms, words || ''::tsvector as words from candidates
)
select slug, score
from copied, lateral (
    select sum(weight * (1 + $8::float8 * ts_rank(words, term))) as score from terms where words @@ term
) as scored
order by score desc, added_ms desc, slug
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

-- name: recount_words
-- Count the entries of each word anew, and keep the $1 commonest words of each kind. Numbers, addresses and compounds are left out.
with counted as materialized (
    select kind, word, entries
    from (
        select kind, word, count(*) as entries, row_number() over (partition by kind order by count(*) desc, word) as place
        from catalog, unnest(tsvector_to_array(words)) as word
        group by kind, word
        having word !~ '[0-9[:punct:]]' and length(word) <= $2
    ) as ranked
    where place <= $1
), gone as (
    delete from catalog_vocabulary as kept
    where not exists (select from counted where counted.kind = kept.kind and counted.word = kept.word)
)
insert into catalog_vocabulary (kind, word, entries) select kind, word, entries from counted order by kind, word
on conflict (kind, word) do update set entries = excluded.entries where catalog_vocabulary.entries <> excluded.entries

-- name: advance
-- Advance the revision, and notify all nodes on commit.
update catalog_revision set revision = revision + 1 returning revision, pg_notify('catalog', 'catalog')
