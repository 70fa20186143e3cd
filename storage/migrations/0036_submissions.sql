-- Submissions: entries and edits that accounts propose for the catalog. Times are UTC epoch milliseconds.
-- works with: 27

create table catalog_submissions (
    id text primary key,
    tenant_id text not null references tenants (id),
    kind text not null check (kind in ('usecases', 'bots')),
    slug text not null,
    name text not null,
    entry text not null,
    created_ms bigint not null,
    base text,
    status text not null check (status in ('pending', 'accepted', 'declined')),
    note text,
    decided_ms bigint,
    check ((status = 'pending') = (decided_ms is null))
);
create index catalog_submissions_of_tenant on catalog_submissions (tenant_id, created_ms desc, id desc);
create index catalog_submissions_newest on catalog_submissions (created_ms desc, id desc);
create index catalog_submissions_in on catalog_submissions (status, created_ms, id);
create index catalog_submissions_waiting on catalog_submissions (tenant_id) where status = 'pending';
create index catalog_submissions_decided on catalog_submissions (decided_ms) where decided_ms is not null;
comment on column catalog_submissions.entry is 'The proposed entry as canonical JSON, with addedAt 0.';
comment on column catalog_submissions.base is 'The entry that it edits, as it was when the edit was proposed. Null: a new entry.';

alter table review_digest add column submissions_ms bigint not null default 0;
comment on column review_digest.submissions_ms is
    'The time of the newest mail to administrators about submissions, which may be ahead.';

-- The texts of a deleted account also lie in the records of its submissions.
create or replace function forget_in_audit(email text, tenant text, own text[], until_ms bigint, most integer) returns bigint
language plpgsql as
$$ declare
    forgotten bigint;
begin
    perform set_config('catalog.audit_allows', 'UPDATE', true);
    with named as (
        -- In the order of an index, because the planner takes it that an account of many records still has them.
        (select id from audit where actor_email = email and created_ms <= until_ms order by created_ms desc, id desc limit most)
        union (select id from audit where target_id = email and created_ms <= until_ms order by created_ms desc, id desc limit most)
        union (
            select record.id from unnest(own) as thing (id) cross join lateral (
                select audit.id from audit where target_id = thing.id and changes <> '{}' and created_ms <= until_ms offset 0
            ) as record limit most
        )
    ), gone as (
        update audit set actor_email = nullif(audit.actor_email, email),
            target_id = case when target_id = email then tenant else target_id end,
            changes = case when tenant in (
                (select tenant_id from api_keys where api_keys.id = target_id),
                (select tenant_id from campaigns where campaigns.id = target_id),
                (select tenant_id from sponsors where sponsors.id = target_id),
                (select tenant_id from catalog_submissions where catalog_submissions.id = target_id)
            ) then '{}' else changes end
        where id = any (array(select id from named limit most)) returning 1
    ) select count(*) from gone into forgotten;
    perform set_config('catalog.audit_allows', '', true);
    return forgotten;
end $$;
