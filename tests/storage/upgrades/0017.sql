insert into webhooks (id, tenant_id, url, host, events, created_ms, status, disabled_ms, disabled_reason, failures,
    failing_since_ms, slow)
values ('whk_1', (select tenant_id from accounts where email = 'ann@example.com'), 'https://tools.example.com/hook',
    'tools.example.com:443', '{booking.paid}', 1763000000000, 'disabled', 1763300000000,
    'The receiver answered 410 Gone.', 3, 1763000000000, true);
insert into webhook_deliveries (id, webhook_id, event_id, subject_id, type, body, created_ms, due_ms, attempts, first_ms,
    answered, last_error)
values ('dlv_1', 'whk_1', 'evt_1', 'bok_1', 'booking.paid', '{}', 1763000000000, 1763000000005, 3, 1763000000000, 410,
    'status 410');
