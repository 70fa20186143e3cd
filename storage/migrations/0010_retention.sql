-- Retention: what pruning finds its rows by, a way to delete old audit records, and the deletion of accounts.
-- Times are UTC epoch milliseconds.

create table account_deletions (
    tenant_id text primary key,
    email text not null,
    requested_ms bigint not null,
    proof bytea,
    code_expires_ms bigint not null default 0,
    attempts integer not null default 0 check (attempts between 0 and 100),
    sent_ms bigint not null default 0,
    sent_day integer not null default 0,
    sent_today integer not null default 0,
    confirmed_ms bigint,
    due_ms bigint,
    begun_ms bigint,
    check ((confirmed_ms is null) = (due_ms is null)),
    check (begun_ms is null or due_ms is not null)
);
create index account_deletions_of_email on account_deletions (email);
create index account_deletions_due on account_deletions (due_ms) where due_ms is not null;
create index account_deletions_unconfirmed on account_deletions (sent_ms) where due_ms is null;
comment on table account_deletions is 'Accounts whose deletion was requested. The row goes with the last of the account.';
comment on column account_deletions.due_ms is 'When the account is erased, unless its owner undoes it before then.';
comment on column account_deletions.begun_ms is 'Since then the account is gone, and its rows are being erased.';

create index api_keys_unclaimed on api_keys (expires_ms) where kind = 'anon' and expires_ms is not null;
create index api_keys_ended on api_keys ((coalesce(revoked_ms, expires_ms)))
    where coalesce(revoked_ms, expires_ms) is not null;
create index claims_unconfirmed on claims (sent_ms) where completed_ms is null and email is not null;
create index sign_in_links_of_email on sign_in_links (email);
create index claims_of_email on claims (email) where email is not null;
create index tenants_merged on tenants (merged_into) where merged_into is not null;
create index usage_days_by_day on usage_days (day);
create index bookings_unpaid on bookings (hold_ms)
    where status in ('expired', 'cancelled') and paid_ms is null and payment_id is null and payment_issue is null;
create index payment_events_by_age on payment_events (handled_ms);
create index payment_reports_by_age on payment_reports (reported_ms);

-- Foreign keys look for rows that refer to a deleted one; an account's rows are found by their owner.
create index booking_keys_of_booking on booking_keys (booking_id);
create index devices_of_key on devices (key_id) where key_id is not null;
create index devices_of_account on devices (email) where email is not null;
create index outbox_of_recipient on outbox (recipient);
create index payment_events_of_booking on payment_events (booking_id);
create index audit_of_actor on audit (actor_email, created_ms desc, id desc) where actor_email is not null;

-- The audit stays append-only, but for the two functions below. Each allows itself what the trigger otherwise refuses, until it
-- returns. A SET clause would do the same, but only a superuser may write one.
create or replace function refuse_change() returns trigger language plpgsql as
$$ begin
    if tg_op = coalesce(current_setting('catalog.audit_allows', true), '') then
        return null;
    end if;
    raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;

create function prune_audit(before_ms bigint, most integer) returns bigint language plpgsql as
$$ declare
    pruned bigint;
begin
    perform set_config('catalog.audit_allows', 'DELETE', true);
    with gone as (
        delete from audit where id = any (array(
            select id from audit where created_ms < before_ms order by created_ms, id limit most for update skip locked
        )) returning 1
    ) select count(*) from gone into pruned;
    perform set_config('catalog.audit_allows', '', true);
    return pruned;
end $$;
comment on function prune_audit is 'Deletes at most so many records that are older than a moment, and returns how many.';

create function forget_in_audit(email text, tenant text, until_ms bigint, most integer) returns bigint language plpgsql as
$$ declare
    forgotten bigint;
begin
    perform set_config('catalog.audit_allows', 'UPDATE', true);
    with own as (
        select id from api_keys where tenant_id = tenant
        union all select id from campaigns where tenant_id = tenant
        union all select id from sponsors where tenant_id = tenant
    ), named as (
        (select id from audit where actor_email = email and created_ms <= until_ms limit most)
        union (select id from audit where target_id = email and created_ms <= until_ms limit most)
        union (
            select audit.id from own join audit on target_id = own.id
            where changes <> '{}' and created_ms <= until_ms limit most
        )
    ), gone as (
        update audit set actor_email = nullif(audit.actor_email, email),
            target_id = case when target_id = email then tenant else target_id end,
            changes = case when target_id in (select id from own) then '{}' else changes end
        where id = any (array(select id from named limit most)) returning 1
    ) select count(*) from gone into forgotten;
    perform set_config('catalog.audit_allows', '', true);
    return forgotten;
end $$;
comment on function forget_in_audit is
    'Takes a deleted account''s email and words out of at most so many records, and returns how many it changed.';
