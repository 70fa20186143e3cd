-- Letters to mailboxes, counted by network.

-- name: lock
-- Lock counts by id.
select sent_ms, sent_day, sent_today, id, known_until_ms from letter_counts
where id = any ($1::bytea[]) order by id for update

-- name: insert
-- Insert counts. If another node inserted one first, the unique violation makes the batch run again.
insert into letter_counts (sent_ms, sent_day, sent_today, id, known_until_ms)
select * from unnest($1::bigint[], $2::int[], $3::int[], $4::bytea[], $5::bigint[])
    as made (sent_ms, sent_day, sent_today, id, known_until_ms) order by id

-- name: update
-- Update locked counts.
update letter_counts set sent_ms = changed.sent_ms, sent_day = changed.sent_day, sent_today = changed.sent_today,
    known_until_ms = changed.known_until_ms
from unnest($1::bigint[], $2::int[], $3::int[], $4::bytea[], $5::bigint[])
    as changed (sent_ms, sent_day, sent_today, id, known_until_ms)
where letter_counts.id = changed.id

-- name: prune
-- Delete counts that neither limit a letter nor remember a network any more, and return how many.
with gone as (
    delete from letter_counts where id = any (array(
        select id from letter_counts where greatest(sent_ms, known_until_ms) < $1
        order by greatest(sent_ms, known_until_ms) limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone
