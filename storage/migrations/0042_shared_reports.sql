-- Reports that accounts share by a link. Times are UTC epoch milliseconds, and days are counted since the epoch.
-- works with: 27

-- Without a foreign key, whose making would wait for every change of an account.
create table shared_reports (
    id text primary key,
    tenant_id text not null,
    token_hash bytea not null unique check (length(token_hash) = 32),
    first_day int not null,
    last_day int not null,
    campaign_id text,
    slot_id text collate "C",
    costs boolean not null,
    created_ms bigint not null
);
create index shared_reports_of_tenant on shared_reports (tenant_id, created_ms desc, id desc);
comment on table shared_reports is 'A row for each link that works: one that is ended is deleted. At most 20 of an account.';
comment on column shared_reports.token_hash is 'SHA-256 of the token in the link, which is not stored.';
comment on column shared_reports.campaign_id is 'The campaign whose bookings the report is about. Null: all.';
comment on column shared_reports.costs is 'Whether the report shows what was paid.';
