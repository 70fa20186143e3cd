insert into nodes values ('0123456789ab', 'host-1', 4711, '1.0.0', 'http://192.0.2.1:8080', 1763000000017, now());
