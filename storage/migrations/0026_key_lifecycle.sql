-- Rotating keys, and mails before a key ends.
-- works with: 14

alter table api_keys add column successor_id text, add column origin_id text,
    add column generation integer not null default 0, add column end_notice_ms bigint;
comment on column api_keys.successor_id is 'The key that replaced this one in a rotation.';
comment on column api_keys.origin_id is
    'The first of several keys that each rotated itself: revoking one takes the later ones along.';
comment on column api_keys.generation is 'Counts the keys of one origin.';
comment on column api_keys.end_notice_ms is 'When the owner is to be mailed that the key ends; null if no mail is due.';

-- Both conditions are null on all rows so far, so the indexes begin empty.
create index api_keys_rotated on api_keys (tenant_id) where origin_id is not null and revoked_ms is null;
create index api_keys_end_notices on api_keys (end_notice_ms) where end_notice_ms is not null and revoked_ms is null;

-- Keys that end in more than a week. Keys that nobody claimed have no owner to mail.
update api_keys set end_notice_ms = expires_ms - 604800000 from accounts
where accounts.tenant_id = api_keys.tenant_id and revoked_ms is null
    and expires_ms > extract(epoch from now())::bigint * 1000 + 604800000;
