insert into passkeys (id, email, credential_id, public_key, sign_count, name, created_ms, used_ms) values
    ('psk_1', 'ann@example.com', '\x01', '\x02', 7, 'Laptop', 1763000000000, 1763000000001);
insert into passkey_challenges (holder_id, purpose, hash, expires_ms) values
    ('ses_1', 'confirm', decode(repeat('07', 32), 'hex'), 1763000300000);
insert into pending_sign_ins (id, token_hash, email, agent, created_ms, expires_ms) values
    ('ses_pending', decode(repeat('08', 32), 'hex'), 'ann@example.com', 'A browser', 1763000000000, 1763000600000);
update sessions set passkey_ms = 1763000000001;
