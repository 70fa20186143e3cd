-- The journal of turns.

-- name: take
-- Lock the owner's row and move it to this turn. No row means that this turn, or a later one, was committed before.
insert into journal (owner, seq) values ($1, $2)
on conflict (owner) do update set seq = excluded.seq, written_at = now() where journal.seq < excluded.seq
returning seq

-- name: forget
-- Drop the rows of nodes that ended long ago.
delete from journal where written_at < now() - interval '1 day'
