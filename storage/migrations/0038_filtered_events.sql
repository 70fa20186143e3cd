-- What was filtered of the events of a booking by day, and why. It stays on the coordinator of a distributed database.
-- works with: 27

create table event_filtered (
    booking_id text not null,
    day integer not null,
    duplicate bigint not null,
    crawler bigint not null,
    prefetch bigint not null,
    capped bigint not null,
    inactive bigint not null,
    primary key (booking_id, day)
) with (fillfactor = 50);
comment on table event_filtered is
    'Events that were reported and not counted, by reason. Only paid bookings have rows, for days on which they can have counts.';

create function remove_event_filtered(of_bookings text[]) returns void language plpgsql as $$
begin
    -- Row locks could deadlock with batches.
    lock table event_filtered in share row exclusive mode;
    delete from event_filtered where booking_id = any (of_bookings);
end
$$;
comment on function remove_event_filtered is 'Deletes what was filtered of bookings.';
