-- The rows of a service that many people have used for four years, through the real schema. The server makes them, the same for
-- a seed and a moment. `:name` stands for a number of `Size`, `:seed` for the seed, `:now` for the moment in epoch milliseconds.

select setseed(:seed / 1000000.0);
set max_parallel_workers_per_gather = 0;
create temporary table clock as
select :now::bigint as now_ms, :now / 86400000 as today, (:now - 345600000) / 604800000 * 604800000 + 345600000 as week_ms;

-- People: number 1 administers, 2 has the most bookings, and 3 has six.
insert into tenants (id, tier)
select 'ten_' || n, case when n % 50 = 0 then 'upgraded' else 'claimed' end from generate_series(1, :accounts) as n;
insert into tenants (id, tier) select 'ten_anon_' || n, 'anonymous' from generate_series(1, :accounts / 4) as n;
insert into accounts (email, tenant_id, created_ms, suspended_ms, suspension_reason)
select 'person' || n || '@example.com', 'ten_' || n, now_ms - (:accounts - n) * 1260000::bigint - 1,
    case when n % 100 = 99 then now_ms - 1 end, case when n % 100 = 99 then 'Spam' end
from generate_series(1, :accounts) as n, clock;
insert into administrators (email, granted_ms) select 'person1@example.com', now_ms from clock;
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms, admin, name)
select 'key_' || n, sha256(('user ' || n)::bytea), 'cs_user_' || n, 'user', 'ten_' || n, now_ms - n, n = 1, 'Key ' || n
from generate_series(1, :accounts) as n, clock;
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms, expires_ms)
select 'key_anon_' || n, sha256(('anonymous ' || n)::bytea), 'cs_anon_' || n, 'anon', 'ten_anon_' || n, now_ms - n,
    now_ms + n * 1000 + 86400000
from generate_series(1, :accounts / 4) as n, clock;
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms, scopes, name, revoked_ms)
select 'key_scoped_' || n, sha256(('scoped ' || n)::bytea), 'cs_scoped_' || n, 'scoped', 'ten_' || n % :accounts + 1,
    now_ms - n, '{sponsor:read}', 'Key ' || n, case when n % 3 = 0 then now_ms - n end
from generate_series(1, :accounts) as n, clock;
-- Sponsor 2 has revoked many keys that its first one granted.
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms, scopes, name, revoked_ms, granter_id)
select 'key_ended_' || n, sha256(('ended ' || n)::bytea), 'cs_scoped_' || n, 'scoped', 'ten_2', now_ms - 86400000 - n * 1000,
    '{sponsor:read}', 'Key ' || n, now_ms - n * 1000, 'key_2'
from generate_series(1, :accounts / 5) as n, clock;
insert into key_usage_days (tenant_id, key_id, day, used)
select 'ten_2', 'key_ended_' || n, today - n % 90, 1 from generate_series(1, :accounts / 5) as n, clock;
insert into claims (token_hash, key_id, created_ms) select sha256(id::bytea), id, created_ms from api_keys where kind = 'anon';
insert into key_uses (key_id, used_ms) select id, created_ms from api_keys where kind = 'user' or id like 'key_ended_%';
insert into sessions (id, token_hash, email, agent, created_ms, seen_ms, expires_ms, revoked_ms)
select 'ses_' || n, sha256(('session ' || n)::bytea), 'person' || n % :accounts + 1 || '@example.com', 'A browser',
    now_ms - n, now_ms - n, now_ms + 86400000 + n, case when n % 7 = 6 then now_ms - n end
from generate_series(0, :accounts - 1) as n, clock;
insert into usage_days (tenant_id, day, used)
select 'ten_' || n % :accounts + 1, today - n / :accounts, 1 + n % 90 from generate_series(0, 3 * :accounts - 1) as n, clock;
insert into key_usage_days (tenant_id, key_id, day, used)
select tenant_id, 'key_' || substring(tenant_id from 5), day, used from usage_days;
insert into mail_choices (email, reviews, bookings, reports)
select 'person' || n || '@example.com', true, false, true from generate_series(4, :accounts, 10) as n;
insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, due_ms, sent_ms)
select 'let_' || n, 'person' || n || '@example.com', 'sign_in_code', '', now_ms - n, now_ms, now_ms - n, now_ms - n
from generate_series(1, :accounts / 2) as n, clock;
insert into sign_in_codes (email, browser, proof, code_expires_ms, attempts)
select 'person' || n || '@example.com', sha256(n::text::bytea), '', now_ms + 600000 + n, 0
from generate_series(1, :accounts / 4) as n, clock;
insert into sign_in_links (token_hash, email, created_ms, expires_ms)
select sha256(n::text::bytea), 'person' || n || '@example.com', now_ms, now_ms + 600000 + n
from generate_series(1, :accounts / 4) as n, clock;
insert into letter_counts (id, sent_ms, sent_day, sent_today, known_until_ms)
select sha256(n::text::bytea), now_ms, today, 1, now_ms from generate_series(1, :accounts / 4) as n, clock;
insert into devices (id, code_hash, user_code, agent, address, created_ms, expires_ms, status, interval_seconds, email)
select 'dev_' || n, sha256(n::text::bytea), case when n = 1 then 'BCDFGHJK' else n::text end, '', '', now_ms - 1, now_ms + 600000 + n, 'pending', 5, 'person' || n || '@example.com'
from generate_series(1, :accounts / 4) as n, clock;
insert into authorizations (id, code_hash, client_hash, client_name, redirect_uri, challenge, resource, scopes, email, session_id,
    created_ms, expires_ms, key_expires_ms, used_ms)
select 'aut_' || n, sha256(n::text::bytea), sha256('client'), 'An agent', 'http://127.0.0.1/callback', sha256('verifier'), '',
    '{library:read}', 'person' || n || '@example.com', 'ses_' || n, now_ms - n, now_ms + 60000 + n, now_ms + 86400000, now_ms - n
from generate_series(1, :accounts / 4) as n, clock;
insert into device_guesses (session_id, wrong, locked_until_ms) select 'ses_' || n, 1, 0 from generate_series(1, :accounts / 4) as n;
insert into passkeys (id, email, credential_id, public_key, sign_count, name, created_ms)
select 'psk_' || n, 'person' || n || '@example.com', sha256(n::text::bytea), '', 0, 'Laptop', now_ms
from generate_series(4, :accounts / 4) as n, clock;
insert into passkey_challenges (holder_id, purpose, hash, expires_ms)
select 'ses_' || n, 'confirm', sha256(n::text::bytea), now_ms + 600000 from generate_series(1, :accounts / 4) as n, clock;
insert into pending_sign_ins (id, token_hash, email, agent, created_ms, expires_ms)
select 'pen_' || n, sha256(n::text::bytea), 'person' || n || '@example.com', '', now_ms, now_ms + 600000
from generate_series(4, :accounts / 4) as n, clock;
insert into account_deletions (tenant_id, email, requested_ms, sent_ms)
select 'ten_' || n, 'person' || n || '@example.com', now_ms, now_ms from generate_series(4, :accounts, 10) as n, clock;

-- Sponsors and their campaigns. Each sponsor has three in turn; the newest 40 wait for review.
insert into sponsors (tenant_id, id, name, website, created_ms)
select 'ten_' || n, 'spo_' || n, 'Brand ' || n, 'https://example.com/' || n, now_ms - (:accounts - n) * 1260000::bigint
from generate_series(2, :accounts) as n, clock;
insert into billing_details (tenant_id, legal_name, address, country, tax_id, reference, email)
select tenant_id, name || ' Ltd', '1 Example Street', 'CH', '', '', '' from sponsors;
insert into shared_reports (id, tenant_id, token_hash, first_day, last_day, costs, created_ms)
select 'shr_' || n || '_' || tenant_id, tenant_id, sha256(convert_to(n || tenant_id, 'UTF8')), 20000, 20029, false, 1700000000000
from sponsors, generate_series(1, 2) as n;
insert into shared_reports (id, tenant_id, token_hash, first_day, last_day, costs, created_ms)
select 'shr_0', 'ten_2', sha256(convert_to('rpt_' || repeat('A', 43), 'UTF8')), (now_ms / 86400000 - 29)::int, (now_ms / 86400000)::int,
    true, now_ms from clock;
insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms, submitted_ms, shown_as)
select 'cmp_' || n, 'ten_' || owner, 'Campaign ' || n, 'Headline ' || n, 'What it offers', 'See more',
    'https://example.com/' || n, 'LT', status, since_ms, case when status = 'pending' then since_ms end,
    case when status in ('approved', 'paused') then 'Brand ' || owner end
from (
    select n, 2 + n % (:accounts - 1) as owner, now_ms - (:campaigns - n) * 420000::bigint - 1 as since_ms,
        case when n > :campaigns - 40 then 'pending' when n < 2 * :accounts then 'approved' when n % 20 = 0 then 'draft'
            when n % 20 = 1 then 'rejected' when n % 20 = 2 then 'paused' else 'approved' end as status
    from generate_series(1, :campaigns) as n, clock
) as made;

-- Slots: 20 are for sale, the others are retired. Each slot is sold for each week of its time.
insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon, retired_ms)
select 'slot-' || n, 'Slot ' || n, case when n % 2 = 0 then 'left' else 'right' end, 5000, now_ms - :weeks * 604800000::bigint,
    n <= 20, 1, false, case when n > 20 then now_ms - 1 end
from generate_series(1, :slots) as n, clock;

-- What was booked: weeks that are over, and those of the slots for sale from this week on. Sponsor 2 has one in 25 of the former.
create temporary table sales as
select n, 'bok_' || n as id, owner, 'cmp_' || owner - 2 + :accounts - 1 as campaign_id, 'slot-' || slot + 1 as slot_id, status,
    week_ms + week * 604800000::bigint as week_ms, 5000 + n % 7 * 100 as cents
from (
    select n, case when n in (1, 5, 8, 11) then 3 when (n + n / 25) % 25 = 0 then 2 else 4 + n * 7919 % (:accounts - 4) end as owner,
        case when n % 10 = 1 then 'paid' when n % 10 < 7 then 'refunded' when n % 10 < 9 then 'expired' else 'cancelled' end as status,
        case when n % 10 = 1 then n / 10 % :slots else n % :slots end as slot,
        -- Bookings without money are deleted after 400 days.
        case when n % 10 = 1 then n / 10 / :slots when n % 10 < 7 then n * :weeks / (:bookings + 1)
            else :weeks - 56 + n % 56 end - :weeks as week
    from generate_series(1::bigint, :bookings) as n
    union all
    select :bookings + n, case when n % 3 = 0 then 2 when n < 3 then 3 else 4 + n % (:accounts - 4) end, 'paid', n % 20, (n - 1) / 20
    from generate_series(1::bigint, 80) as n
) as made, clock;
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status, mode,
    created_ms, hold_ms, paid_ms, paid_cents, payment_id, refunded_cents, next_step_ms, refund_requested_ms, refund_reason)
select id, 'ten_' || owner, campaign_id, slot_id, 'Slot ' || substring(slot_id from 6), sales.week_ms, 1, cents, 'usd', status, 'test',
    sales.week_ms - 3456000000 + n % 604800000, sales.week_ms - 3456000000 + n % 604800000 + 1800000, paid_ms,
    case when paid_ms is not null then cents end, case when paid_ms is not null then 'pay_' || n end,
    case when status = 'refunded' then cents else 0 end,
    case when sales.week_ms > now_ms then sales.week_ms when sales.week_ms + 604800000 > now_ms then (today + 1) * 86400000 + 300000 end,
    case when n > :bookings + 70 then now_ms end, case when n > :bookings + 70 then 'Wrong week' end
from sales, clock, lateral (
    select case when status in ('paid', 'refunded') then sales.week_ms - 3456000000 + n % 604800000 + 600000 end as paid_ms
) as times order by n;
insert into webhook_events (id, tenant_id, subject_id, type, body, created_ms)
select 'evt_' || id, 'ten_' || owner, id, 'booking.paid', '{"type":"booking.paid","timestamp":"2026-01-01T00:00:00Z","data":{}}', now_ms - n % 864000000 from sales, clock where status = 'paid' order by n;
insert into slot_weeks (slot_id, week_ms, booking_id) select slot_id, week_ms, id from sales where status = 'paid' order by n;
insert into booking_keys (tenant_id, operation, key, fingerprint, booking_id, created_ms)
select 'ten_' || owner, 'reserve', n, '', id, week_ms - 3456000000 from sales;
insert into payment_events (id, booking_id, handled_ms)
select 'evt_' || n, id, now_ms - n % 400 * 86400000::bigint from sales, clock where status in ('paid', 'refunded') and n % 2 = 0;
insert into payment_reports (id, payment_id, state, reported_ms)
select 'dp_' || n, 'pay_' || n, 'won', now_ms - n from sales, clock where status = 'refunded' and n % 10 = 3;
insert into invoices (number, series, sequence, kind, booking_id, payment_id, tenant_id, amount_cents, currency, mode, issued_ms,
    seller_name, seller_address, seller_tax_id, buyer_name, buyer_website, buyer_email, slot_name, week_start_ms, weeks, belongs_to)
select 'TEST-' || mark || lpad(sequence::text, 6, '0'), 'test ' || kind, sequence, kind, id, payment_id, tenant_id, amount_cents,
    currency, mode, paid_ms, 'The seller', '', '', 'Brand', '', 'person@example.com', slot_name, week_start_ms, weeks,
    case when kind = 'credit_note' then 'TEST-INV-' || lpad(number::text, 6, '0') end
from (
    select *, row_number() over (partition by kind order by paid_ms, id) as sequence
    from (select *, row_number() over (order by paid_ms, id) as number from bookings where paid_ms is not null) as sold,
        (values ('invoice', 'INV-'), ('credit_note', 'CN-')) as kinds (kind, mark)
    where kind = 'invoice' or status = 'refunded'
) as numbered order by paid_ms, kind;
insert into invoice_numbers (series, last) select series, max(sequence) from invoices group by series;

-- What was delivered: seven days of a booking of sponsor 2 and of those from this week on, one or two of the others.
insert into event_bookings (id) select id from sales where status in ('paid', 'refunded') order by n;
insert into event_counts (booking, day, impressions, clicks, place)
select number, sales.week_ms / 86400000 + day, 100 + number % 900, number % 10, number % 256
from sales join event_bookings using (id) cross join generate_series(0, 6) as day, clock
where (owner < 4 or n > :bookings or day = 0 or day = 1 and random() < :second_days) and clock.today >= sales.week_ms / 86400000 + day;
insert into event_filtered (booking_id, day, duplicate, crawler, prefetch, capped, inactive)
select id, day, impressions / 4, impressions / 9, 3, 0, 1 from event_counts join event_bookings on number = booking;
insert into event_sites (host) select 'site' || n || '.example.com' from generate_series(1, 200) as n;
insert into event_site_counts (booking, day, site, impressions, clicks, place)
select booking, day, 1 + booking % 200, impressions / 2, clicks / 2, place from event_counts;

-- The audit of two years, and webhooks: three of sponsor 2, and one of each fifth account.
insert into audit (id, created_ms, actor_type, actor_id, actor_email, action, target_type, target_id, request_id, changes)
select 'aud_c' || id, now_ms - n * 200000::bigint % 60000000000, 'session', 'ses_1', 'person1@example.com', 'campaign.approved', 'campaign', id, '',
    '{"status": ["pending", "approved"]}'
from (select id, row_number() over (order by id) as n from campaigns where shown_as is not null) as approved, clock;
insert into audit (id, created_ms, actor_type, actor_id, actor_email, action, target_type, target_id, request_id, changes)
select 'aud_' || step || n, now_ms - n * 200000::bigint % 60000000000, 'key', 'key_' || owner, 'person' || owner || '@example.com',
    'booking.' || step, 'booking', id, '', '{}'
from sales cross join (values ('reserved'), ('paid')) as steps (step), clock where step = 'reserved' or status in ('paid', 'refunded');
insert into audit (id, created_ms, actor_type, actor_id, actor_email, action, target_type, target_id, request_id, changes)
select 'aud_e' || n, now_ms - n * 1000, 'key', 'key_2', case when n % 10 > 0 then 'person2@example.com' end, 'key.revoked', 'key',
    'key_ended_' || n, '', '{}'
from generate_series(1, :accounts / 5) as n, clock;
insert into webhooks (id, tenant_id, url, host, events, created_ms, status)
select 'whk_' || n, 'ten_' || case when n < 4 then 2 else n end, 'https://example.com/' || n, 'example.com', '{booking.paid}', now_ms, 'enabled'
from (select 1 as n union all select 2 union all select 3 union all select generate_series(5, :accounts, 5)) as made, clock;
insert into webhook_deliveries (id, webhook_id, event_id, subject_id, type, body, created_ms, status, done_ms, attempts)
select 'dlv_' || id || '_' || n, webhooks.id, 'evt_' || n, 'bok_' || n, 'booking.paid', '{}', now_ms - n, 'delivered', now_ms, 1
from webhooks cross join lateral generate_series(1, case when id in ('whk_1', 'whk_2', 'whk_3') then greatest(60, :bookings / 100) else 2 end) as n, clock;

-- What accounts proposed for the catalog. The newest 40 wait for review.
insert into catalog_submissions (id, tenant_id, kind, slug, name, entry, created_ms, status, decided_ms)
select 'sub_' || n, 'ten_' || n, 'bots', 'bot-' || n, 'Bot ' || n, '{"id": "bot-' || n || '"}', now_ms - n,
    case when n <= 40 then 'pending' else 'declined' end, case when n > 40 then now_ms end
from generate_series(2, :accounts / 5) as n, clock;

-- Which terms they accepted.
insert into accepted_terms (tenant_id, version, accepted_ms)
select 'ten_' || n, '2026-11', now_ms - n from generate_series(1, :accounts) as n, clock;
update sponsorship_revision set revision = revision + 1;
drop table clock, sales;
