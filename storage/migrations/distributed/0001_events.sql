-- Distributes what events write by booking: keys, counts, and the journal of their turns. All else stays on the coordinator.

-- A database of one machine may hold rows already; one connection at a time moves them, so that the next table can follow.
set local citus.multi_shard_modify_mode = 'sequential';

-- Tables lie side by side only where type and collation of what distributes them are the same.
alter table events alter column booking_id type text;

create table event_turns (
    place text not null,
    owner text not null,
    seq bigint not null,
    written_at timestamptz not null default now(),
    primary key (place, owner)
) with (fillfactor = 50);
comment on table event_turns is 'The last batch that a deduper has committed to a shard. A place is a booking that lies there.';

select create_distributed_table('events', 'booking_id');
select create_distributed_table('delivery_days', 'booking_id', colocate_with => 'events');
select create_distributed_table('event_turns', 'place', colocate_with => 'events');
