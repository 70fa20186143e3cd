insert into sign_ins values ('ann@example.com', 'proof', 1763000600000, 1, 1763000000000, 20404, 1);
insert into sessions values ('ses_1', sha256('session'), 'ann@example.com', 'A browser', 1763000000010, 1763000000011, 1765000000000);
insert into forms values ('ses_1', 'form', 1763000000012);
insert into devices values ('dev_1', sha256('device'), 'BCDFGHJK', 'A program', '203.0.113.7', 1763000000013, 1763000900013,
    'approved', 5, 1763000000014, 'ann@example.com', 'ses_1', 1763000000015, null);
insert into device_guesses values ('ses_1', 2, 0);
insert into key_uses values ('key_full', 1763000000016);
