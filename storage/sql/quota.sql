-- Tenants and their counters.

-- name: lock
-- Lock the tenants of a batch, in one order on all nodes. `no key update`, because unordered writes to tables that
-- refer to tenants must neither wait for this batch nor block it.
select id, tier, lifetime_used, usecase_reads, month, month_used, day, day_used, merged_into
from tenants where id = any ($1::text[]) order by id for no key update

-- name: save
-- Write the counters that a batch changed, and each tenant's count of the day.
with changed as (
    select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::int[], $5::bigint[], $6::int[], $7::bigint[])
        as changed (id, lifetime_used, usecase_reads, month, month_used, day, day_used)
), daily as (
    insert into usage_days (tenant_id, day, used) select id, day, day_used from changed order by id
    on conflict (tenant_id, day) do update set used = excluded.used
)
update tenants
set lifetime_used = changed.lifetime_used, usecase_reads = changed.usecase_reads,
    month = changed.month, month_used = changed.month_used, day = changed.day, day_used = changed.day_used
from changed where tenants.id = changed.id

-- name: days
-- What a tenant used, by day.
select day, used from usage_days where tenant_id = $1 and day between $2 and $3 and used > 0
