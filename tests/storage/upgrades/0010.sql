insert into account_deletions (tenant_id, email, requested_ms, proof, code_expires_ms, attempts, sent_ms, sent_day, sent_today,
    confirmed_ms, due_ms, begun_ms) values
    ('ten_ann', 'ann@example.com', 1763000000017, null, 0, 1, 1763000000017, 20405, 1, 1763000000018, 1763604800018, null);
