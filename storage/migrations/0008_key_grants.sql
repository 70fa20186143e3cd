-- Who granted a key, and whether it carries administration. Nodes of the previous version read neither column.

alter table api_keys add column granter_id text, add column admin boolean not null default false;
create index api_keys_granted on api_keys (tenant_id) where granter_id is not null and revoked_ms is null;
comment on column api_keys.granter_id is 'The key that granted this one, which ends with it; null if a person or an operator did.';
comment on column api_keys.admin is 'Whether the scopes admin:* take effect while the account is an administrator''s.';

alter table devices add column admin boolean not null default false;
comment on column devices.admin is 'Whether the person who approved gave administration to the key.';

-- The audit tells who granted each key. Keys that were claimed or came from a device login get no administration.
update api_keys set granter_id = audit.actor_id from audit
where action = 'key.issued' and target_id = api_keys.id and actor_type = 'key' and actor_id <> api_keys.id;

with recursive grantable as (
    select keys.id from api_keys as keys join audit on target_id = keys.id and action = 'key.issued'
    join accounts on accounts.tenant_id = keys.tenant_id join administrators on administrators.email = accounts.email
    where actor_type in ('cli', 'session') and not changes ? 'deviceId'
    union select granted.id from api_keys as granted join grantable on granted.granter_id = grantable.id
)
update api_keys set admin = true from grantable
where grantable.id = api_keys.id and (scopes is null or scopes && '{admin:read,admin:write}');

-- Keys whose granter was revoked end now.
with recursive ended as (
    select id, revoked_ms from api_keys where revoked_ms is not null
    union select granted.id, ended.revoked_ms from api_keys as granted join ended on granted.granter_id = ended.id
)
update api_keys set revoked_ms = ended.revoked_ms from ended where ended.id = api_keys.id and api_keys.revoked_ms is null;
