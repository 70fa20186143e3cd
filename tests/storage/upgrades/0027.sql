-- Rows in every table of a database of release 1.1.
insert into journal (owner, seq) values ('n1/keys', 7);
insert into tenants (id, tier, lifetime_used, month, month_used, day, day_used) values
    ('ten_ann', 'claimed', 12, 24322, 5, 20775, 2), ('ten_old', 'anonymous', 3, 0, 0, 0, 0);
update tenants set merged_into = 'ten_ann' where id = 'ten_old';
insert into usage_days values ('ten_ann', 20774, 3), ('ten_ann', 20775, 2);
insert into accounts values ('ann@example.com', 'ten_ann', 1763000000000);
insert into api_keys (id, hash, prefix, kind, tenant_id, scopes, name, created_ms) values
    ('key_full', sha256('full'), 'cs_user_abcd', 'user', 'ten_ann', null, null, 1763000000001),
    ('key_scoped', sha256('scoped'), 'cs_scoped_abcd', 'scoped', 'ten_ann', '{library:read}', 'Reader', 1763000000002);
insert into claims (token_hash, key_id, created_ms, email, proof, completed_ms) values
    (sha256('token'), 'key_full', 1763000000001, 'ann@example.com', sha256('proof'), 1763000000003);
insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, due_ms) values
    ('let_1', 'ann@example.com', 'claim_code', 'nonce', 1763000000001, 1763000600001, 1763000000001);
insert into audit values ('aud_1', 1763000000003, 'key', 'key_full', 'ann@example.com', 'key.claimed', 'key', 'key_full', 'r1', '{}');
insert into catalog (kind, slug, added_ms, document) values
    ('usecases', 'invoices', 1763000000000, '{"title": "Invoices", "roi": "2 hours a week"}'),
    ('bots', 'chaser', 1763000000000, '{"name": "Chaser", "job": "Sorts receipts"}');
update catalog_revision set revision = 4;
insert into identity (secret_print) values ('print');
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
alter table events drop constraint events_until_switch;
create table events_20775 partition of events for values in (20775);
insert into events values ('bok_1', 20775, 'key', 1);
insert into sign_ins values ('ann@example.com', 'proof', 1763000600000, 1, 1763000000000, 20404, 1);
insert into sessions values ('ses_1', sha256('session'), 'ann@example.com', 'A browser', 1763000000010, 1763000000011, 1765000000000);
insert into forms values ('ses_1', 'form', 1763000000012);
insert into devices values ('dev_1', sha256('device'), 'BCDFGHJK', 'A program', '203.0.113.7', 1763000000013, 1763000900013,
    'approved', 5, 1763000000014, 'ann@example.com', 'ses_1', 1763000000015, null);
insert into device_guesses values ('ses_1', 2, 0);
insert into key_uses values ('key_full', 1763000000016);
insert into nodes values ('0123456789ab', 'host-1', 4711, '1.0.0', 'http://192.0.2.1:8080', 1763000000017, now());
insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, due_ms, facts) values
    ('let_2', 'ann@example.com', 'of_later', 'nonce', 1763000000001, 1763000600001, 1763000000001, '{"prefix": "cs_user_abcd"}');
insert into sign_in_codes values ('ann@example.com', sha256('browser'), 'proof', 1763000600000, 1);
insert into letter_counts values (sha256('a network'), 1763000000000, 20404, 1, 1770776000000);
insert into sign_in_links values (sha256('a token'), 'ann@example.com', 1763000000000, 1763000600000, null);
insert into api_keys (id, hash, prefix, kind, tenant_id, scopes, name, created_ms, granter_id, admin) values
    ('key_child', sha256('child'), 'cs_scoped_efgh', 'scoped', 'ten_ann', '{admin:read}', 'Child', 1763000000009, 'key_full', true);
update bookings set sessions = 'cs_1 cs_2', cancelled_ms = 1763000000018, disputed = true;
insert into payment_reports values ('dp_1', 'pay_1', 'disputed', 1763000000019);
insert into account_deletions (tenant_id, email, requested_ms, proof, code_expires_ms, attempts, sent_ms, sent_day, sent_today,
    confirmed_ms, due_ms, begun_ms) values
    ('ten_ann', 'ann@example.com', 1763000000017, null, 0, 1, 1763000000017, 20405, 1, 1763000000018, 1763604800018, null);
insert into passkeys (id, email, credential_id, public_key, sign_count, name, created_ms, used_ms) values
    ('psk_1', 'ann@example.com', '\x01', '\x02', 7, 'Laptop', 1763000000000, 1763000000001);
insert into passkey_challenges (holder_id, purpose, hash, expires_ms) values
    ('ses_1', 'confirm', decode(repeat('07', 32), 'hex'), 1763000300000);
insert into pending_sign_ins (id, token_hash, email, agent, created_ms, expires_ms) values
    ('ses_pending', decode(repeat('08', 32), 'hex'), 'ann@example.com', 'A browser', 1763000000000, 1763000600000);
update sessions set passkey_ms = 1763000000001;
update identity set billing_mode = 'test';
create table event_keys_20776 partition of event_keys for values in (20776);
insert into event_bookings (id) values ('bok_1');
insert into event_keys values (20776, 1, 107, true, 'key');
insert into event_counts values (1, 20776, 0, 1, 107);
insert into event_journal values (107, 'one/events', 3);
update event_switch set since = 20776;
select record_events(7::smallint, 'node/events', 1000, 0, '{}', '{}', '{}');
update schema_migrations set works_with = 14 where version = 15;
update campaigns set submitted_ms = 1763000000010,
    pending = '{"headline": "New", "body": "Body", "cta": "Go", "target_url": "https://example.com", "logo_text": "A"}';
insert into webhooks (id, tenant_id, url, host, events, created_ms, status, disabled_ms, disabled_reason, failures,
    failing_since_ms, slow)
values ('whk_1', (select tenant_id from accounts where email = 'ann@example.com'), 'https://tools.example.com/hook',
    'tools.example.com:443', '{booking.paid}', 1763000000000, 'disabled', 1763300000000,
    'The receiver answered 410 Gone.', 3, 1763000000000, true);
insert into webhook_deliveries (id, webhook_id, event_id, subject_id, type, body, created_ms, due_ms, attempts, first_ms,
    answered, last_error)
values ('dlv_1', 'whk_1', 'evt_1', 'bok_1', 'booking.paid', '{}', 1763000000000, 1763000000005, 3, 1763000000000, 410,
    'status 410');
insert into event_sites (host) values ('site.example.com');
insert into event_site_counts values (1, 20776, 1, 2, 1, 107);
update accounts set suspended_ms = 1763000000001, suspension_reason = 'Not ours.' where email = 'ann@example.com';
insert into invoice_numbers values ('live invoice', 1);
insert into invoices (number, series, sequence, kind, booking_id, payment_id, tenant_id, amount_cents, currency, mode, issued_ms,
    seller_name, seller_address, seller_tax_id, buyer_name, buyer_website, buyer_email, slot_name, week_start_ms, weeks)
values ('INV-000001', 'live invoice', 1, 'invoice', 'bok_1', 'pay_1', 'ten_1', 5000, 'usd', 'live', 1763000000020, 'Seller',
    'Street 1', 'XX 1', 'Brand', 'https://brand.example.com/', 'ann@example.com', 'Left', 1763337600000, 1);
insert into payment_reports values ('pay_part', 'pay_part', 'refunded', 1763000000020, 100);
update bookings set refund_requested_ms = 1763000000011, refund_reason = 'A mistake', refund_note = 'Shown', refund_requests = 1,
    refund_cents = 5000;
update bookings set next_step_ms = 1763000000012;
insert into mail_choices values ('ann@example.com', true, false, true);
update review_digest set mailed_ms = 1763000000013;
insert into catalog_vocabulary (kind, word, entries) values ('bots', 'invoic', 3), ('usecases', 'naïv', 1)
on conflict (kind, word) do update set entries = 9;
update api_keys set successor_id = 'key_2', origin_id = 'key_0', generation = 2, end_notice_ms = 1763000000001
where id = (select min(id) from api_keys);
insert into key_usage_days values ('ten_1', 'key_1', 20411, 7);
