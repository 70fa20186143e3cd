insert into visitor_secrets (day, secret) values (20500, decode(repeat('ab', 32), 'hex'));
