insert into webhook_events (id, tenant_id, subject_id, type, body, created_ms)
values ('evt_1', 'ten_1', 'bok_1', 'booking.paid', '{"type":"booking.paid"}', 1700000000000);
