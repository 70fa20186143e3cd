-- Plans of the functions that record events depend on no values. Postgres would compare and often make a plan for each call,
-- which takes as long as recording a small batch.

do $$
declare
    -- Where a distributed database keeps the functions for the days before it was distributed.
    place text := case when to_regnamespace('undistributed') is null then 'public' else 'undistributed' end;
    name text;
begin
    foreach name in array array['record_new_events', 'record_events'] loop
        execute format('alter function %I.%I set plan_cache_mode = force_generic_plan', place, name);
    end loop;
end
$$;
