-- Finds the live keys of an account, and counts the keys that it made on a day, without a look at those that have ended.
-- works with: 27

create index api_keys_live on api_keys (tenant_id, (coalesce(expires_ms, 9223372036854775807))) where revoked_ms is null;
create index api_keys_made on api_keys (tenant_id, created_ms);
