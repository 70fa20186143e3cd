-- Tenants and their counters.

-- name: lock
-- Lock the tenants of a batch, in one order on all nodes. `no key update`, because unordered writes to tables that
-- refer to tenants must neither wait for this batch nor block it.
select {tenants}
from tenants where id = any ($1::text[]) order by id for no key update

-- name: save
-- Write the counters that a batch changed, and each tenant's count of the day. Add what the days of keys changed by: a refund
-- is negative, also where a node of the last release has charged. Batches of one tenant exclude each other, so its days need
-- no order.
with changed as (
    select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::int[], $5::bigint[], $6::int[], $7::bigint[])
        as changed (id, lifetime_used, usecase_reads, month, month_used, day, day_used)
), daily as (
    insert into usage_days (tenant_id, day, used) select id, day, day_used from changed order by id
    on conflict (tenant_id, day) do update set used = excluded.used
), keyed as (
    insert into key_usage_days (tenant_id, key_id, day, used)
    select * from unnest($8::text[], $9::text[], $10::int[], $11::bigint[]) as step (tenant_id, key_id, day, used)
    on conflict (tenant_id, key_id, day) do update set used = key_usage_days.used + excluded.used
)
update tenants
set lifetime_used = changed.lifetime_used, usecase_reads = changed.usecase_reads,
    month = changed.month, month_used = changed.month_used, day = changed.day, day_used = changed.day_used
from changed where tenants.id = changed.id

-- name: days
-- What a tenant used, by day.
select day, used from usage_days where tenant_id = $1 and day between $2 and $3 and used > 0

-- name: days_by_key
-- What a tenant used by day, without a key, and what some of its keys did. One statement, so that both are of one moment. Each
-- key is a search of its own: a generic plan, which cannot know that days are recent, would read the days of all keys.
select null as key_id, day, used from usage_days where tenant_id = $1 and day between $3 and $4 and used > 0
union all
select wanted.key_id, day, used from unnest($2::text[]) as wanted (key_id) cross join lateral (
    select day, used from key_usage_days
    where tenant_id = $1 and key_id = wanted.key_id and day between $3 and $4 and used > 0 offset 0
) as own
