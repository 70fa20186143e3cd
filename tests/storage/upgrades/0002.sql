insert into administrators values ('ann@example.com', 1763000000004);
insert into sponsors values ('ten_ann', 'spo_1', 'Acme', 'https://example.com', 1763000000005, false);
insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon) values
    ('left-top', 'Left top', 'left', 5000, 1763000000006, true, 1, false);
insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms, shown_as) values
    ('cmp_1', 'ten_ann', 'Autumn', 'Headline', 'Body', 'Go', 'https://example.com', 'A', 'approved', 1763000000007, 'Acme');
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status, mode,
    created_ms, hold_ms, paid_ms, paid_cents, payment_id, refunded_cents) values
    ('bok_1', 'ten_ann', 'cmp_1', 'left-top', 'Left top', 1762732800000, 1, 5000, 'usd', 'paid', 'test', 1763000000008,
    1763001800008, 1763000000009, 5000, 'pay_1', 0);
insert into slot_weeks values ('left-top', 1762732800000, 'bok_1');
insert into booking_keys values ('ten_ann', 'createBooking', 'd9b1d7db-0000-4000-8000-000000000000', 'print', 'bok_1', 1763000000008);
insert into payment_events values ('evt_1', 'bok_1', 1763000000009);
insert into delivery_days values ('bok_1', 20405, 12, 3);
update sponsorship_revision set revision = 9;
