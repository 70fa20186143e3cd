-- Passkeys: the second factor of a sign-in. Times are UTC epoch milliseconds.

create table passkeys (
    id text primary key,
    email text not null references accounts (email),
    credential_id bytea not null unique check (length(credential_id) between 1 and 1023),
    public_key bytea not null check (length(public_key) <= 2048),
    sign_count bigint not null check (sign_count >= 0),
    name text not null check (length(name) between 1 and 60),
    created_ms bigint not null,
    used_ms bigint
);
create index passkeys_of_account on passkeys (email);
comment on column passkeys.public_key is 'A COSE key (RFC 9052).';
comment on column passkeys.sign_count is 'The counter of the authenticator at its last use; 0 if it has none.';

create table passkey_challenges (
    holder_id text primary key,
    purpose text not null check (purpose in ('register', 'confirm', 'sign_in')),
    hash bytea not null check (length(hash) = 32),
    expires_ms bigint not null
);
create index passkey_challenges_by_end on passkey_challenges (expires_ms);
comment on column passkey_challenges.holder_id is 'The session or the pending sign-in that may use the challenge, once.';

create table pending_sign_ins (
    id text primary key,
    token_hash bytea not null unique check (length(token_hash) = 32),
    email text not null references accounts (email),
    agent text not null check (length(agent) <= 200),
    created_ms bigint not null,
    expires_ms bigint not null
);
create index pending_sign_ins_of_account on pending_sign_ins (email);
create index pending_sign_ins_by_end on pending_sign_ins (expires_ms);
comment on table pending_sign_ins is 'Sign-ins with the right code that wait for a passkey. They are no sessions and open nothing.';

alter table sessions add column passkey_ms bigint;
comment on column sessions.passkey_ms is 'When the session last showed a passkey.';
