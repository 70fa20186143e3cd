insert into journal (owner, seq) values ('n1/keys', 7);
insert into tenants (id, tier, lifetime_used, month, month_used, day, day_used) values
    ('ten_ann', 'claimed', 12, 24322, 5, 20775, 2), ('ten_old', 'anonymous', 3, 0, 0, 0, 0);
update tenants set merged_into = 'ten_ann' where id = 'ten_old';
insert into usage_days values ('ten_ann', 20774, 3), ('ten_ann', 20775, 2);
insert into accounts values ('ann@example.com', 'ten_ann', 1763000000000);
insert into api_keys (id, hash, prefix, kind, tenant_id, scopes, name, created_ms) values
    ('key_full', sha256('full'), 'cs_user_abcd', 'user', 'ten_ann', null, null, 1763000000001),
    ('key_scoped', sha256('scoped'), 'cs_scoped_abcd', 'scoped', 'ten_ann', '{library:read}', 'Reader', 1763000000002);
insert into claims (token_hash, key_id, created_ms, email, proof, completed_ms) values
    (sha256('token'), 'key_full', 1763000000001, 'ann@example.com', sha256('proof'), 1763000000003);
insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, due_ms) values
    ('let_1', 'ann@example.com', 'claim_code', 'nonce', 1763000000001, 1763000600001, 1763000000001);
insert into audit values ('aud_1', 1763000000003, 'key', 'key_full', 'ann@example.com', 'key.claimed', 'key', 'key_full', 'r1', '{}');
insert into catalog (kind, slug, added_ms, document) values
    ('usecases', 'invoices', 1763000000000, '{"title": "Invoices", "roi": "2 hours a week"}'),
    ('bots', 'chaser', 1763000000000, '{"name": "Chaser", "job": "Sorts receipts"}');
update catalog_revision set revision = 4;
insert into identity (secret_print) values ('print');
