-- Moving the keys of days that are not distributed to the workers, a piece at a time. `{day}` is a number.

-- name: days
-- The days that are not distributed, with an estimate of their keys and the number of those that were copied.
select days.day, greatest(reltuples, moved, 0)::bigint as keys, coalesce(moved, 0)::bigint as moved
from (
    select substring(relname from '[0-9]+$')::int as day, reltuples
    from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'undistributed.event_keys'::regclass
) as days left join event_moves on event_moves.day = days.day
order by days.day

-- name: today
-- The day of this server (UTC, since the epoch).
select extract(epoch from now())::bigint / 86400

-- name: pace
-- Whether moving is paused, and how many keys a second it copies.
select paused, keys_per_second from event_pace

-- name: set_pace
-- Pause or continue, at a pace. Null leaves it as it is.
update event_pace set paused = coalesce($1, paused), keys_per_second = coalesce($2, keys_per_second)

-- name: begin_day
-- Remember that a day is being moved.
insert into event_moves (day) values ($1) on conflict do nothing

-- name: progress
-- How far a day is. Locked, so that two who move it take turns.
select place, after from event_moves where day = $1 for update

-- name: last_of_piece
-- The last of at most $3 keys of a place after a key, and their number.
select (array_agg(key order by key desc))[1] as last, count(*) as keys from (
    select key from undistributed.event_keys_{day} where place = $1 and key > $2 order by key limit $3
) as piece

-- name: copy
-- Copy the keys of a place after a key, up to another. Keys that were copied before stay.
insert into event_keys (day, booking, place, click, key)
select day, booking, place, click, key from undistributed.event_keys_{day} where place = $1 and key > $2 and key <= $3
on conflict do nothing

-- name: advance
-- Remember how far a day is.
update event_moves set place = $2, after = $3, moved = moved + $4 where day = $1

-- name: here
-- The keys of a place on the coordinator.
select count(*) from undistributed.event_keys_{day} where place = $1

-- name: there
-- The keys of a day and place on the workers.
select count(*) from event_keys where day = {day} and place = $1

-- name: end_day
-- Forget a day that was moved.
delete from event_moves where day = $1
