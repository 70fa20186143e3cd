-- Tenants with their counters, accounts, keys, claims, the outbox, the audit and the catalog.
-- Times are UTC epoch milliseconds. Every hot table's key begins with its owner's id, as a distributed engine needs it.

create table journal (
    owner text primary key,
    seq bigint not null,
    written_at timestamptz not null default now()
) with (fillfactor = 50);
comment on table journal is 'The last batch that each actor of each node has committed: it settles unknown outcomes.';

create table tenants (
    id text primary key,
    tier text not null check (tier in ('anonymous', 'claimed', 'upgraded')),
    lifetime_used bigint not null default 0 check (lifetime_used >= 0),
    usecase_reads bigint not null default 0 check (usecase_reads >= 0),
    month integer not null default 0,
    month_used bigint not null default 0 check (month_used >= 0),
    day integer not null default 0,
    day_used bigint not null default 0 check (day_used >= 0),
    merged_into text references tenants (id)
) with (fillfactor = 50);
comment on column tenants.day is 'Days since the epoch, UTC; month is year * 12 + month - 1.';

create table usage_days (
    tenant_id text not null,
    day integer not null,
    used bigint not null,
    primary key (tenant_id, day)
) with (fillfactor = 70);

create table accounts (
    email text primary key,
    tenant_id text not null unique references tenants (id),
    created_ms bigint not null
);

create table api_keys (
    id text primary key,
    hash bytea not null unique check (length(hash) = 32),
    prefix text not null,
    kind text not null check (kind in ('anon', 'user', 'scoped')),
    tenant_id text not null references tenants (id),
    scopes text[],
    name text,
    created_ms bigint not null,
    expires_ms bigint,
    revoked_ms bigint,
    check ((kind = 'scoped') = (scopes is not null))
);
create index api_keys_by_tenant on api_keys (tenant_id);
create index api_keys_by_prefix on api_keys (prefix);

create table claims (
    token_hash bytea primary key check (length(token_hash) = 32),
    key_id text not null unique references api_keys (id),
    created_ms bigint not null,
    email text,
    proof bytea,
    code_expires_ms bigint not null default 0,
    attempts integer not null default 0 check (attempts between 0 and 100),
    sent_ms bigint not null default 0,
    sent_day integer not null default 0,
    sent_today integer not null default 0,
    completed_ms bigint
);

create table outbox (
    id text primary key,
    recipient text not null,
    template text not null,
    nonce bytea not null,
    created_ms bigint not null,
    expires_ms bigint not null,
    attempts integer not null default 0,
    due_ms bigint not null,
    sent_ms bigint,
    failed_ms bigint,
    last_error text check (length(last_error) <= 200),
    check (sent_ms is null or failed_ms is null)
);
create index outbox_due on outbox (due_ms) where sent_ms is null and failed_ms is null;
create index outbox_done on outbox (coalesce(sent_ms, failed_ms)) where coalesce(sent_ms, failed_ms) is not null;
comment on column outbox.nonce is 'The code is derived from it with the server''s secret when the mail is rendered.';
comment on column outbox.due_ms is 'When to send it; while a node holds a lease, when that ends.';
comment on column outbox.attempts is 'Leases so far: an attempt is counted before it is made.';

create table audit (
    id text primary key,
    created_ms bigint not null,
    actor_type text not null check (actor_type in ('key', 'session', 'cli', 'system')),
    actor_id text not null,
    actor_email text,
    action text not null,
    target_type text not null,
    target_id text not null,
    request_id text not null,
    changes jsonb not null
);
create index audit_newest on audit (created_ms desc, id desc);

create function refuse_change() returns trigger language plpgsql as
$$ begin raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation'; end $$;
create trigger audit_append_only before update or delete or truncate on audit
    for each statement execute function refuse_change();

-- json and not jsonb: a document is served as it was imported, byte by byte.
create function catalog_words(document json) returns tsvector language sql immutable parallel safe as $$
    select setweight(to_tsvector('english', coalesce(document ->> 'title', document ->> 'name', '')), 'A')
        || setweight(to_tsvector('english', coalesce(document #>> '{guide,category}', document ->> 'category', '')), 'B')
        || setweight(to_tsvector('english', coalesce(document ->> 'job', '')), 'B')
        || setweight(to_tsvector('english', coalesce(document ->> 'roi', '')), 'C')
        || setweight(to_tsvector('english', coalesce(document ->> 'who', '')), 'C')
        || setweight(to_tsvector('english', coalesce(document ->> 'handle', '')), 'C')
        || setweight(json_to_tsvector('english', coalesce(document -> 'guide', '{}'), '["string"]'), 'D')
$$;

create table catalog (
    kind text not null,
    slug text collate "C" not null,
    added_ms bigint not null,
    document json not null,
    title_words tsvector not null
        generated always as (to_tsvector('english', coalesce(document ->> 'title', document ->> 'name', ''))) stored,
    words tsvector not null generated always as (catalog_words(document)) stored,
    primary key (kind, slug)
) partition by list (kind);
-- Documents and their words lie outside of the row: a search for a common word visits every row, and reads few of them.
alter table catalog alter column document set storage external, alter column words set storage external,
    alter column title_words set storage plain;
create table usecases partition of catalog for values in ('usecases') with (toast_tuple_target = 128);
create table bots partition of catalog for values in ('bots') with (toast_tuple_target = 128);
create index catalog_newest on catalog (kind, added_ms desc, slug);
create index catalog_words on catalog using gin (words) with (gin_pending_list_limit = 1024);

create table catalog_revision (
    singleton boolean primary key default true check (singleton),
    revision bigint not null
);
insert into catalog_revision (revision) values (0);

create table identity (
    singleton boolean primary key default true check (singleton),
    secret_print bytea not null
);
comment on table identity is 'A fingerprint of the server''s secret: nodes of one database must share it.';
