-- Empties the tables that only release 1.0 used, and takes them out of the counts. Nodes of 1.1 still read them; 1.3 removes them.
-- works with: 27

do $$
declare
    made record;
begin
    -- The lock of `EventPartitions`: nodes drop partitions at the same time.
    perform pg_advisory_xact_lock(7206341120);
    for made in select inhrelid::regclass as name from pg_inherits where inhparent = 'events'::regclass loop
        execute format('drop table %s', made.name);
    end loop;
    -- A distributed database has a view of its own, which its own migrations replace.
    if to_regnamespace('undistributed') is null then
        create or replace view deliveries as
        select id as booking_id, day, impressions, clicks from event_counts join event_bookings on number = booking;
    end if;
end
$$;

delete from sign_ins;
delete from forms;
comment on table events is 'Empty. Nodes of 1.1 look for partitions here; 1.3 removes it.';
comment on table event_switch is 'The first day whose events are in event_keys, which is over. Nodes of 1.1 read it; 1.3 removes it.';
comment on table sign_ins is 'Empty. Nodes of 1.1 read it; 1.3 removes it.';
comment on table forms is 'Empty. Nodes of 1.1 read it; 1.3 removes it.';
