-- What lists and reports of many bookings read: the revenue by month, which a trigger keeps, and indexes.
-- works with: 27

create table revenue_months (
    month text collate "C" not null,
    currency text not null,
    mode text not null check (mode in ('test', 'live')),
    payments bigint not null,
    paid_cents bigint not null,
    refunded_cents bigint not null,
    primary key (month, currency, mode)
) with (fillfactor = 50);
comment on table revenue_months is
    'The payments of real bookings by the month (UTC, 2026-11) in which they were paid, and what of them was refunded. Triggers keep it.';

create function revenue_month(paid_ms bigint) returns text language sql immutable parallel safe as
$$ select to_char(to_timestamp(paid_ms / 1000) at time zone 'UTC', 'YYYY-MM') $$;

-- One statement with sorted rows for each change of bookings, so that nodes do not deadlock. Nodes of 1.1 are counted as well.
create function count_revenue() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into revenue_months as sums (month, currency, mode, payments, paid_cents, refunded_cents)
        select revenue_month(paid_ms), coalesce(paid_currency, currency), mode, count(*), sum(coalesce(paid_cents, amount_cents)),
            sum(refunded_cents)
        from after where paid_ms is not null and not demo group by 1, 2, 3 order by 1, 2, 3
        on conflict (month, currency, mode) do update set payments = sums.payments + excluded.payments,
            paid_cents = sums.paid_cents + excluded.paid_cents, refunded_cents = sums.refunded_cents + excluded.refunded_cents;
    elsif tg_op = 'DELETE' then
        insert into revenue_months as sums (month, currency, mode, payments, paid_cents, refunded_cents)
        select revenue_month(paid_ms), coalesce(paid_currency, currency), mode, -count(*),
            -sum(coalesce(paid_cents, amount_cents)), -sum(refunded_cents)
        from before where paid_ms is not null and not demo group by 1, 2, 3 order by 1, 2, 3
        on conflict (month, currency, mode) do update set payments = sums.payments + excluded.payments,
            paid_cents = sums.paid_cents + excluded.paid_cents, refunded_cents = sums.refunded_cents + excluded.refunded_cents;
    else
        insert into revenue_months as sums (month, currency, mode, payments, paid_cents, refunded_cents)
        select revenue_month(paid_ms), currency, mode, sum(payments), sum(paid), sum(refunded)
        from (
            select paid_ms, coalesce(paid_currency, currency) as currency, mode, 1 as payments,
                coalesce(paid_cents, amount_cents) as paid, refunded_cents as refunded
            from after where paid_ms is not null and not demo
            union all
            select paid_ms, coalesce(paid_currency, currency), mode, -1, -coalesce(paid_cents, amount_cents), -refunded_cents
            from before where paid_ms is not null and not demo
        ) as changed
        group by 1, 2, 3 having sum(payments) <> 0 or sum(paid) <> 0 or sum(refunded) <> 0 order by 1, 2, 3
        on conflict (month, currency, mode) do update set payments = sums.payments + excluded.payments,
            paid_cents = sums.paid_cents + excluded.paid_cents, refunded_cents = sums.refunded_cents + excluded.refunded_cents;
    end if;
    return null;
end
$$;
create trigger count_revenue_of_new after insert on bookings
    referencing new table as after for each statement execute function count_revenue();
create trigger count_revenue_of_old after delete on bookings
    referencing old table as before for each statement execute function count_revenue();
create trigger count_revenue_of_changed after update on bookings
    referencing old table as before new table as after for each statement execute function count_revenue();
insert into revenue_months
select revenue_month(paid_ms), coalesce(paid_currency, currency), mode, count(*), sum(coalesce(paid_cents, amount_cents)),
    sum(refunded_cents)
from bookings where paid_ms is not null and not demo group by 1, 2, 3;

create index bookings_weeks_of_tenant on bookings (tenant_id, week_start_ms, weeks) where paid_ms is not null;
create index bookings_by_id_of_tenant on bookings (tenant_id, id collate "C") include (status, hold_ms);
create index bookings_by_weeks on bookings (week_start_ms, weeks);
create index bookings_demo on bookings (id) where demo;
