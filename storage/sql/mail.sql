-- The outbox: letters are leased, sent outside of any transaction, and marked.

-- name: lease
-- Take letters that are due, the longest due first; those that another node has locked are passed over.
with due as (
    select id from outbox where sent_ms is null and failed_ms is null and due_ms <= $1
    order by due_ms, id limit $2 for update skip locked
)
update outbox set attempts = attempts + 1, due_ms = $3 from due where outbox.id = due.id
returning outbox.id, recipient, template, nonce, created_ms, expires_ms, due_ms, attempts, sent_ms, failed_ms, last_error

-- name: next_due
-- When the next letter is due.
select min(due_ms) from outbox where sent_ms is null and failed_ms is null

-- name: mark_sent
-- The mail is out, whatever else was kept of it meanwhile.
update outbox set sent_ms = $2, failed_ms = null where id = $1 and sent_ms is null

-- name: mark_again
-- A letter rests until it is due again, unless a later lease was given.
update outbox set due_ms = $3, last_error = $4
where id = $1 and attempts = $2 and sent_ms is null and failed_ms is null

-- name: mark_given_up
-- A letter is not tried any more, unless a later lease was given.
update outbox set failed_ms = $3, last_error = $4
where id = $1 and attempts = $2 and sent_ms is null and failed_ms is null

-- name: prune
-- Delete letters that were done long ago; returns how many.
with gone as (
    delete from outbox where id = any (array(
        select id from outbox where coalesce(sent_ms, failed_ms) < $1
        order by coalesce(sent_ms, failed_ms) limit $2 for update skip locked
    )) returning 1
)
select count(*) from gone

-- name: recent
-- The newest letters.
select id, recipient, template, nonce, created_ms, expires_ms, due_ms, attempts, sent_ms, failed_ms, last_error
from outbox order by created_ms desc, id desc limit $1
