-- Sponsors, slots, campaigns, bookings and what is delivered for them; administrators.
-- Times are UTC epoch milliseconds. What a sponsor owns belongs to an account, known by its one tenant.

create table administrators (
    email text primary key,
    granted_ms bigint not null
);

create table sponsors (
    tenant_id text primary key references tenants (id),
    id text not null unique,
    name text not null,
    website text not null,
    created_ms bigint not null,
    demo boolean not null default false
);
create index sponsors_newest on sponsors (created_ms desc, id desc);

create table slots (
    id text collate "C" primary key,
    name text not null,
    side text not null check (side in ('left', 'right')),
    week_price_cents bigint not null check (week_price_cents > 0),
    created_ms bigint not null,
    active boolean not null,
    weeks integer not null check (weeks > 0),
    coming_soon boolean not null,
    offer_ends_ms bigint,
    package_kind text check (package_kind in ('website', 'youtube', 'bundle')),
    description text,
    retired_ms bigint,
    demo boolean not null default false
);

create table campaigns (
    id text primary key,
    tenant_id text not null references tenants (id),
    name text not null,
    headline text not null,
    body text not null,
    cta text not null,
    target_url text not null,
    logo_text text not null,
    status text not null check (status in ('draft', 'pending', 'approved', 'rejected', 'paused')),
    created_ms bigint not null,
    review_note text,
    shown_as text,
    demo boolean not null default false
);
comment on column campaigns.shown_as is 'The sponsor''s name as it was when the campaign was approved: what visitors see.';
create index campaigns_newest on campaigns (created_ms desc, id desc);
create index campaigns_of_tenant on campaigns (tenant_id, created_ms desc, id desc);

create table bookings (
    id text primary key,
    tenant_id text not null references tenants (id),
    campaign_id text not null references campaigns (id),
    slot_id text collate "C" not null references slots (id),
    slot_name text not null,
    week_start_ms bigint not null,
    weeks integer not null check (weeks > 0),
    amount_cents bigint not null check (amount_cents > 0),
    currency text not null,
    status text not null
        check (status in ('reserved', 'checkout', 'paid', 'expired', 'cancelled', 'refunding', 'refunded')),
    mode text not null check (mode in ('test', 'live')),
    created_ms bigint not null,
    hold_ms bigint not null,
    package_kind text check (package_kind in ('website', 'youtube', 'bundle')),
    package_description text,
    youtube_status text check (youtube_status in ('planned', 'published')),
    youtube_url text,
    youtube_notes text,
    paid_ms bigint,
    paid_cents bigint check (paid_cents >= 0),
    payment_id text,
    refunded_cents bigint not null check (refunded_cents >= 0),
    refund_due_ms bigint,
    payment_issue text,
    demo boolean not null default false
);
create index bookings_newest on bookings (created_ms desc, id desc);
create index bookings_of_tenant on bookings (tenant_id, created_ms desc, id desc);
create index bookings_of_campaign on bookings (campaign_id);
create index bookings_open on bookings (hold_ms) where status in ('reserved', 'checkout');
create index bookings_open_of_tenant on bookings (tenant_id) where status in ('reserved', 'checkout');
create index bookings_refund_due on bookings (refund_due_ms) where refund_due_ms is not null;
create index bookings_paid on bookings ((week_start_ms + weeks * 604800000::bigint)) where status = 'paid';
comment on column bookings.hold_ms is 'When an open hold runs out; checkout begins it anew, once.';
comment on column bookings.refund_due_ms is 'Set while money is to be paid back: when to try, or try again.';

create table slot_weeks (
    slot_id text collate "C" not null references slots (id),
    week_ms bigint not null,
    booking_id text not null references bookings (id),
    primary key (slot_id, week_ms)
);
create index slot_weeks_of_booking on slot_weeks (booking_id);
comment on table slot_weeks is 'Weeks that are held or sold. The primary key is why no week is ever sold twice.';

create table booking_keys (
    tenant_id text not null references tenants (id),
    operation text not null,
    key text not null,
    fingerprint bytea not null,
    booking_id text not null references bookings (id),
    created_ms bigint not null,
    primary key (tenant_id, operation, key)
);
comment on table booking_keys is 'Idempotency keys and what they have led to; kept for ever.';

create table payment_events (
    id text primary key,
    booking_id text not null,
    handled_ms bigint not null
);
comment on table payment_events is 'Events of the payment processor that were handled: each is handled once.';

create table delivery_days (
    booking_id text not null,
    day integer not null,
    impressions bigint not null default 0 check (impressions >= 0),
    clicks bigint not null default 0 check (clicks >= 0),
    primary key (booking_id, day)
) with (fillfactor = 50);
comment on table delivery_days is 'Impressions and clicks of a booking by day since the epoch, UTC; kept for ever.';

create table sponsorship_revision (
    singleton boolean primary key default true check (singleton),
    revision bigint not null
);
insert into sponsorship_revision (revision) values (0);
