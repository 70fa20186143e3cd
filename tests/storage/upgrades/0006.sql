insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, due_ms, facts) values
    ('let_2', 'ann@example.com', 'of_later', 'nonce', 1763000000001, 1763000600001, 1763000000001, '{"prefix": "cs_user_abcd"}');
