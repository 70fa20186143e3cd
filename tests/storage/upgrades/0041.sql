insert into accepted_terms (tenant_id, version, accepted_ms) values ('ten_1', '2026-11', 1);
update bookings set terms_version = '2026-11', terms_accepted_ms = 1 where id = 'bok_1';
