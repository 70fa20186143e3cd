-- What people do: sign-in, sessions, device login, and when keys were last used. Times are UTC epoch milliseconds.

create table sign_ins (
    email text primary key,
    proof bytea not null,
    code_expires_ms bigint not null,
    attempts integer not null check (attempts between 0 and 100),
    sent_ms bigint not null,
    sent_day integer not null,
    sent_today integer not null
);
create index sign_ins_by_age on sign_ins (sent_ms);
comment on table sign_ins is 'The code that was last sent to an email so that somebody may sign in with it.';

create table sessions (
    id text primary key,
    token_hash bytea not null unique check (length(token_hash) = 32),
    email text not null references accounts (email),
    agent text not null check (length(agent) <= 200),
    created_ms bigint not null,
    seen_ms bigint not null,
    expires_ms bigint not null,
    revoked_ms bigint
) with (fillfactor = 70);
create index sessions_of_email on sessions (email);
create index sessions_by_end on sessions (expires_ms);
comment on column sessions.agent is 'The browser''s own name for itself, for the one who looks through his sessions.';

create table forms (
    session_id text not null references sessions (id) on delete cascade,
    id text not null,
    sent_ms bigint not null,
    primary key (session_id, id)
);
create index forms_by_age on forms (sent_ms);
comment on table forms is 'Forms that were sent: each does its work once.';

create table devices (
    id text primary key,
    code_hash bytea not null unique check (length(code_hash) = 32),
    user_code text not null unique,
    agent text not null check (length(agent) <= 200),
    address text not null,
    created_ms bigint not null,
    expires_ms bigint not null,
    status text not null check (status in ('pending', 'approved', 'denied', 'expired', 'redeemed')),
    interval_seconds integer not null check (interval_seconds > 0),
    polled_ms bigint,
    email text references accounts (email),
    session_id text,
    decided_ms bigint,
    key_id text references api_keys (id)
);
create index devices_reserved on devices (email) where status = 'approved';
create index devices_by_end on devices (expires_ms);
comment on column devices.status is 'expired is written when somebody was told so first: it stays so where clocks differ.';
comment on column devices.session_id is 'The session that decided, of the account with this email; it may be gone by now.';
comment on column devices.polled_ms is 'The last poll that was not early: the pace is held against it.';

create table device_guesses (
    session_id text primary key references sessions (id) on delete cascade,
    wrong integer not null check (wrong >= 0),
    locked_until_ms bigint not null
);
comment on table device_guesses is 'Wrong user codes of a session; enough of them lock its form for a while.';

create table key_uses (
    key_id text primary key,
    used_ms bigint not null
) with (fillfactor = 50);
comment on table key_uses is 'When keys were last used, up to some seconds: for display only.';

-- What administrators look for: campaigns that wait for them, and the history of one thing.
create index campaigns_by_status on campaigns (status, created_ms desc, id desc);
create index audit_of_target on audit (target_id, created_ms desc, id desc);
