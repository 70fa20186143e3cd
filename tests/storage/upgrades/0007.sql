insert into sign_in_codes values ('ann@example.com', sha256('browser'), 'proof', 1763000600000, 1);
insert into letter_counts values (sha256('a network'), 1763000000000, 20404, 1, 1770776000000);
insert into sign_in_links values (sha256('a token'), 'ann@example.com', 1763000000000, 1763000600000, null);
