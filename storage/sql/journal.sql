-- The journal of batch ids: the last batch that each owner committed.

-- name: record
-- Lock the owner's row and advance it to this batch. No row means that this batch or a later one has already committed.
insert into journal (owner, seq) values ($1, $2)
on conflict (owner) do update set seq = excluded.seq, written_at = now() where journal.seq < excluded.seq
returning seq
