-- The schedules of bookings that are not over, and the indexes of lists of bookings. Bookings that ended before are neither told
-- nor refunded afterwards.
-- works with: 14

update bookings set next_step_ms = case
    when week_start_ms > now_ms then week_start_ms
    -- The end of the current day, and 5 minutes for late events.
    else (now_ms / 86400000 + 1) * 86400000 + 300000
end
from (select (extract(epoch from now()) * 1000)::bigint as now_ms) as clock
where next_step_ms is null and week_start_ms + weeks * 604800000::bigint > now_ms;

create index bookings_next_step on bookings (next_step_ms) where status = 'paid' and next_step_ms is not null;
create index bookings_refund_requested on bookings (refund_requested_ms) where refund_requested_ms is not null;
create index bookings_in_status on bookings (status, created_ms desc, id desc);
create index bookings_of_slot on bookings (slot_id, created_ms desc, id desc);
create index bookings_by_week on bookings (week_start_ms);
create index bookings_in_trouble on bookings (created_ms desc, id desc)
    where disputed or (payment_issue is not null and status in ('paid', 'refunding'))
        or (refund_requested_ms is not null and status = 'paid');
create index bookings_by_payment_time on bookings (paid_ms) where paid_ms is not null;
