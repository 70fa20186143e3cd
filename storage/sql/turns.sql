-- The journal of turns.

-- name: take
-- Lock the owner's row and move it to this turn. No row means that this turn, or a later one, was committed before.
insert into journal (owner, seq) values ($1, $2)
on conflict (owner) do update set seq = excluded.seq, written_at = now() where journal.seq < excluded.seq
returning seq

-- name: forget
-- Drop rows of nodes that ended long ago, the most that one start takes on. What is locked is left: it may be that of a batch
-- under way after a quiet day, or another node that starts is dropping it.
delete from journal where owner = any (array(
    select owner from journal where written_at < now() - interval '1 day' limit 10000 for update skip locked
))
