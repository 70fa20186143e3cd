-- Webhooks out: endpoints of accounts, and what is delivered to them. Times are UTC epoch milliseconds.
-- works with: 14

create table webhooks (
    id text primary key,
    tenant_id text not null references tenants (id),
    url text not null check (length(url) between 1 and 1500),
    host text not null,
    events text[] not null check (cardinality(events) > 0),
    created_ms bigint not null,
    status text not null check (status in ('enabled', 'disabled')),
    disabled_ms bigint,
    disabled_reason text,
    failures integer not null default 0 check (failures >= 0),
    failing_since_ms bigint,
    slow boolean not null default false,
    paused_ms bigint,
    due_ms bigint check (due_ms is null or status = 'enabled'),
    unique (tenant_id, url)
);
create index webhooks_due on webhooks (due_ms, id) where due_ms is not null;
comment on column webhooks.host is 'Host and port of the URL: attempts to one receiver are limited.';
comment on column webhooks.paused_ms is 'When a failing webhook is tried again.';
comment on column webhooks.due_ms is
    'When to look at the webhook next: its first due delivery, but not before paused_ms. Null: nothing waits, or it is off.';

create table webhook_deliveries (
    seq bigint generated always as identity primary key,
    id text not null unique,
    webhook_id text not null references webhooks (id) on delete cascade,
    event_id text not null,
    subject_id text not null,
    type text not null,
    body text not null,
    created_ms bigint not null,
    due_ms bigint,
    attempts integer not null default 0 check (attempts >= 0),
    first_ms bigint,
    done_ms bigint,
    status text not null default 'waiting' check (status in ('waiting', 'delivered', 'failed')),
    answered integer,
    last_error text,
    check ((status = 'waiting') = (done_ms is null)),
    check (due_ms is null or done_ms is null)
);
create index webhook_deliveries_newest on webhook_deliveries (webhook_id, seq desc);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_ms, seq) where due_ms is not null;
create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, subject_id, seq) where done_ms is null;
create index webhook_deliveries_oldest on webhook_deliveries (created_ms);
comment on column webhook_deliveries.seq is 'Orders the deliveries of a subject: one that waits lets the later ones wait.';
comment on column webhook_deliveries.due_ms is
    'When to try, or the end of the lease. Null: done, or an earlier delivery of the subject waits.';
