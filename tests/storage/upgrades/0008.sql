insert into api_keys (id, hash, prefix, kind, tenant_id, scopes, name, created_ms, granter_id, admin) values
    ('key_child', sha256('child'), 'cs_scoped_efgh', 'scoped', 'ten_ann', '{admin:read}', 'Child', 1763000000009, 'key_full', true);
