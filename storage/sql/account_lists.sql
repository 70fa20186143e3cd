-- Accounts as administrators list them. A search reads a bounded number of accounts, by the index that orders them.
-- Tiers and names are looked up for each row of a page: for a join, the planner reads the tenants and the sponsors as a whole if
-- there are few enough.

-- name: page
-- A page of accounts strictly after a place: of the next $3 that are read, the first $4 that match.
with read as materialized (
    select {accounts} from accounts
    where (created_ms, tenant_id) < ($1, $2)
    order by created_ms desc, tenant_id desc limit $3
), page as materialized (
    select * from read where true /* conditions */
    order by created_ms desc, tenant_id desc limit $4
)
select page.*, (select tier from tenants where tenants.id = page.tenant_id), administrators.email is not null as admin,
    (select name from sponsors where sponsors.tenant_id = page.tenant_id) as sponsor_name
from page left join administrators on administrators.email = page.email
order by page.created_ms desc, page.tenant_id desc

-- name: page_of_suspended
-- The same of suspended accounts.
with read as materialized (
    select {accounts} from accounts
    where suspended_ms is not null and (created_ms, tenant_id) < ($1, $2)
    order by created_ms desc, tenant_id desc limit $3
), page as materialized (
    select * from read where true /* conditions */
    order by created_ms desc, tenant_id desc limit $4
)
select page.*, (select tier from tenants where tenants.id = page.tenant_id), administrators.email is not null as admin,
    (select name from sponsors where sponsors.tenant_id = page.tenant_id) as sponsor_name
from page left join administrators on administrators.email = page.email
order by page.created_ms desc, page.tenant_id desc

-- name: last_read
-- The last account that a search after a place has read, if there are $3 or more.
select created_ms, tenant_id from accounts where (created_ms, tenant_id) < ($1, $2)
order by created_ms desc, tenant_id desc offset $3 - 1 limit 1

-- name: last_suspended_read
-- The same of suspended accounts.
select created_ms, tenant_id from accounts where suspended_ms is not null and (created_ms, tenant_id) < ($1, $2)
order by created_ms desc, tenant_id desc offset $3 - 1 limit 1

-- name: sponsors_named
-- The tenants of the newest sponsors whose name has a part, of the newest $2 that are read.
select tenant_id from (select tenant_id, name from sponsors order by created_ms desc, id desc limit $2) as read
where position($1 in lower(name)) > 0 limit $3

-- name: count
-- The number of accounts, no further than $1.
select count(*) from (select from accounts order by created_ms desc, tenant_id desc limit $1) as counted

-- name: count_suspended
-- The number of suspended accounts, no further than $1.
select count(*) from (select from accounts where suspended_ms is not null limit $1) as counted

-- name: line
-- One account by its tenant, as in a list, with the numbers of its live keys and sessions and of its campaigns at $2.
select accounts.email, accounts.tenant_id, accounts.created_ms, suspended_ms, suspension_reason, tier,
    administrators.email is not null as admin, sponsors.name as sponsor_name,
    (select count(*) from api_keys where api_keys.tenant_id collate "C" = $1 and revoked_ms is null
        and coalesce(expires_ms, 9223372036854775807) > $2) as keys,
    (select count(*) from sessions where sessions.email = accounts.email and revoked_ms is null and expires_ms > $2)
        as sessions,
    (select count(*) from campaigns where campaigns.tenant_id = $1) as campaigns
from accounts join tenants on tenants.id = accounts.tenant_id
left join sponsors on sponsors.tenant_id = accounts.tenant_id
left join administrators on administrators.email = accounts.email
where accounts.tenant_id = $1

-- name: bookings
-- The bookings of a tenant by status at $2, of at most $3. An index has all of it in this order.
select case when status in ('reserved', 'checkout') and hold_ms <= $2 then 'expired' else status end as status, count(*) as number
from (select status, hold_ms from bookings where tenant_id = $1 order by id collate "C" limit $3) as read group by 1
