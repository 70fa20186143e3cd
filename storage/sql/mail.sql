-- The outbox: messages are leased, sent outside any transaction, and marked.

-- name: enqueue_for_owners
-- Insert mails to the owners of accounts, except of topics that they turned off. A step of a schedule is mailed once, whatever
-- happens to its booking.
insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, facts, due_ms)
select made.id, accounts.email, template, '', made.created_ms, expires_ms, facts::json, made.created_ms
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    as made (id, tenant_id, template, topic, facts, created_ms, expires_ms)
join accounts using (tenant_id)
left join mail_choices using (email)
where made.topic is null or coalesce(to_jsonb(mail_choices) -> made.topic, 'true')::boolean
on conflict (id) do nothing

-- name: enqueue_for_administrators
-- Insert mails to all administrators, except of topics that they turned off. The ids are numbered.
insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, facts, due_ms)
select made.id || '_' || row_number() over (partition by made.id order by administrators.email), administrators.email,
    template, '', made.created_ms, expires_ms, facts::json, made.created_ms
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    as made (id, template, topic, facts, created_ms, expires_ms)
cross join administrators
left join mail_choices using (email)
where made.topic is null or coalesce(to_jsonb(mail_choices) -> made.topic, 'true')::boolean
on conflict (id) do nothing

-- name: lease
-- Lease due messages, longest due first. Messages that another node has locked are skipped.
with due as (
    select id from outbox where sent_ms is null and failed_ms is null and due_ms <= $1
    order by due_ms, id limit $2 for update skip locked
)
update outbox set attempts = attempts + 1, due_ms = $3 from due where outbox.id = due.id
returning {outbox.queue}

-- name: waiting
-- When the next message is due, how many wait, and when the oldest was created, of those that are longest due.
select min(due_ms) as next_due_ms, count(*) as waiting, min(created_ms) as oldest_ms
from (
    select due_ms, created_ms from outbox where sent_ms is null and failed_ms is null order by due_ms limit $1
) as first

-- name: mark_sent
-- Record that a message was sent, even if it was marked as failed meanwhile.
update outbox set sent_ms = $2, failed_ms = null where id = $1 and sent_ms is null

-- name: mark_again
-- Postpone a message, unless it was leased again.
update outbox set due_ms = $3, last_error = $4
where id = $1 and attempts = $2 and sent_ms is null and failed_ms is null

-- name: mark_given_up
-- Record that a message failed for good, unless it was leased again.
update outbox set failed_ms = $3, last_error = $4
where id = $1 and attempts = $2 and sent_ms is null and failed_ms is null

-- name: prune
-- Delete messages that were sent or failed long ago, and return how many.
{delete from outbox by id where coalesce(sent_ms, failed_ms) < $1 order by coalesce(sent_ms, failed_ms) limit $2 for
    update skip locked}

-- name: recent
-- The newest messages.
select {queue} from outbox order by created_ms desc, id desc limit $1
