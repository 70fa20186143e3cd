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
