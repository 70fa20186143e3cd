-- Usage by key and day.
-- works with: 14

create table key_usage_days (
    tenant_id text not null,
    key_id text not null,
    day integer not null,
    used bigint not null,
    primary key (tenant_id, key_id, day)
) with (fillfactor = 70);
create index key_usage_days_by_day on key_usage_days (day);
comment on table key_usage_days is
    'Requests by key and day. The last release counts in usage_days alone, which has the sum of all keys.';
