-- The clock of a service for developers: by how much it is ahead, and when its tasks have work.

-- name: ahead
-- By how much the clock is ahead.
select clock_ahead_ms from identity

-- name: set_ahead
-- Move the clock, never back.
update identity set clock_ahead_ms = $1 where clock_ahead_ms < $1

-- name: next_due
-- The first time after $1 at which a task has work. The digest of reviews is due $2 after the last one.
select min(due_ms)
from (
    select min(hold_ms) as due_ms from bookings where status in ('reserved', 'checkout') and hold_ms > $1
    union all
    select min(next_step_ms) from bookings where status = 'paid' and next_step_ms > $1 and not demo
    union all
    select min(refund_due_ms) from bookings where refund_due_ms > $1 and not disputed
    union all
    select mailed_ms + $2::bigint from review_digest
    where mailed_ms + $2::bigint > $1 and exists (
        select from campaigns
        where (status = 'pending' or (status in ('approved', 'paused') and pending is not null)) and not demo
            and submitted_ms > mailed_ms
    )
    union all
    select min(end_notice_ms) from api_keys join accounts using (tenant_id) where end_notice_ms > $1 and revoked_ms is null
    union all
    select min(due_ms) from account_deletions where due_ms > $1
    union all
    select min(due_ms) from outbox where due_ms > $1 and sent_ms is null and failed_ms is null
    union all
    select min(due_ms) from webhooks where due_ms > $1
) as due
