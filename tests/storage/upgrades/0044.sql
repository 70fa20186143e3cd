insert into authorizations (
    id, code_hash, client_hash, client_name, redirect_uri, challenge, resource, scopes, email, session_id, created_ms, expires_ms,
    key_expires_ms, used_ms
) values (
    'aut_1', sha256('code'), sha256('client'), 'A program', 'http://127.0.0.1/callback', sha256('verifier'),
    'https://catalog.example.com/mcp', '{library:read}', 'owner@example.com', 'ses_1', 1700000000000, 1700000060000,
    1707776000000, 1700000000000
);
update api_keys set text_expires_ms = 1700003600000;
