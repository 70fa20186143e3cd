-- Nodes that run since before the distribution record the events of the days before `since` in these partitions, and make
-- none there by themselves.
do $$
declare
    today integer := extract(epoch from now())::bigint / 86400;
begin
    -- The lock of `EventPartitions`: nodes make partitions at the same time.
    perform pg_advisory_xact_lock(7206341120);
    for on_day in today .. (select since from event_distribution) - 1 loop
        if to_regclass(format('undistributed.event_keys_%s', on_day)) is null then
            execute format('create table undistributed.event_keys_%s (like undistributed.event_keys including all)', on_day);
            execute format('alter table undistributed.event_keys attach partition undistributed.event_keys_%1$s for values in (%1$s)', on_day);
        end if;
    end loop;
end
$$;
