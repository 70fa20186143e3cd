-- What people allowed programs: codes, and the keys and refresh tokens that programs got for them (RFC 6749).
-- works with: 27

-- Null on all rows so far. Nodes of 1.1 take the text of such a key until they are replaced, whenever it ends.
alter table api_keys add column text_expires_ms bigint;
comment on column api_keys.text_expires_ms is
    'When the text ends that a program was given for this key, unless it is replaced before; null: with the key.';

-- Without foreign keys, whose making would wait for every change of an account or key.
create table authorizations (
    id text primary key,
    code_hash bytea not null unique check (length(code_hash) = 32),
    client_hash bytea not null check (length(client_hash) = 32),
    client_name text not null,
    redirect_uri text not null,
    challenge bytea not null check (length(challenge) = 32),
    resource text not null,
    scopes text[] not null,
    email text not null,
    session_id text not null,
    created_ms bigint not null,
    expires_ms bigint not null,
    key_expires_ms bigint not null,
    used_ms bigint not null,
    key_id text unique,
    refresh_hash bytea unique check (length(refresh_hash) = 32),
    secret_hash bytea check (length(secret_hash) = 32),
    spent_hash bytea check (length(spent_hash) = 32),
    repeat_until_ms bigint,
    check ((key_id is null) = (refresh_hash is null) and (key_id is null) = (secret_hash is null))
);
create index authorizations_of_account on authorizations (email, created_ms, id);
create index authorizations_open on authorizations (email, expires_ms) where key_id is null;
create index authorizations_of_client on authorizations (client_hash, used_ms);
create index authorizations_by_end on authorizations (expires_ms);
comment on table authorizations is 'A row for each time that a person allowed a program to act for an account.';
comment on column authorizations.code_hash is 'SHA-256 of the code, which the program exchanges for a key.';
comment on column authorizations.client_hash is 'SHA-256 of the id of the program.';
comment on column authorizations.challenge is 'SHA-256 of the verifier that the program proves its code with (RFC 7636).';
comment on column authorizations.refresh_hash is 'SHA-256 of the half that all refresh tokens of the row share.';
comment on column authorizations.secret_hash is 'SHA-256 of the other half of the current refresh token.';
comment on column authorizations.spent_hash is 'The same of the one before, which may be sent again until repeat_until_ms.';
comment on column authorizations.expires_ms is 'When the row may go: when the code ends, and then when the key does.';
