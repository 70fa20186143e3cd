-- What webhooks tell each account, also one without a webhook: the feed of events. Times are UTC epoch milliseconds.
-- works with: 27

-- Without a foreign key, whose making would wait for every change of an account.
create table webhook_events (
    seq bigint generated always as identity primary key,
    id text not null unique,
    tenant_id text not null,
    subject_id text not null,
    type text not null,
    body text not null,
    created_ms bigint not null
);
create index webhook_events_of_tenant on webhook_events (tenant_id, seq);
create index webhook_events_oldest on webhook_events (created_ms);
comment on column webhook_events.seq is
    'Orders the events of an account. It is taken under a lock of the account that is held until the commit, so a reader that has '
    'seen an event has seen all of the account with a lower number.';
