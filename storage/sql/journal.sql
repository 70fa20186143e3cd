-- The journal of batch ids: the last batch that each owner committed.

-- name: record
-- Lock the owner's row and advance it to this batch. No row means that this batch or a later one has already committed.
insert into journal (owner, seq) values ($1, $2)
on conflict (owner) do update set seq = excluded.seq, written_at = now() where journal.seq < excluded.seq
returning seq

-- name: prune
-- Delete rows of nodes that ended more than a day ago, at most 10,000 per start. Locked rows are skipped: a batch may be
-- running after a quiet day, or another starting node may be deleting them.
delete from journal where owner = any (array(
    select owner from journal where written_at < now() - interval '1 day' limit 10000 for update skip locked
))
