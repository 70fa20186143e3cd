-- Websites that are counted by name, and what was counted by website.

-- name: sites
-- All websites with their numbers.
select host, number from event_sites

-- name: name
-- Give numbers to the websites that the configuration names.
insert into event_sites (host, named) select unnest($1::text[]), true on conflict (host) do update set named = true where not event_sites.named

-- name: lock
-- Let one node at a time give places.
lock table event_sites in share row exclusive mode

-- name: admit
-- Give numbers to websites in this order, until so many have earned one.
insert into event_sites (host)
select host from unnest($1::text[]) with ordinality as wanted (host, at)
where not exists (select from event_sites where event_sites.host = wanted.host)
order by at limit greatest(0, $2 - (select count(*) from event_sites where not named))

-- name: has_room
-- Whether fewer than so many websites have earned their number.
select count(*) < $1 from event_sites where not named

-- name: of_booking
-- What each website has delivered of a booking.
select site, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks
from site_deliveries where booking_id = $1 group by site order by impressions desc, site collate "C"

-- name: samples
-- The numbers of bookings that are samples.
select number from event_bookings where id = any (array(select id from bookings where demo))

-- name: between
-- What each website has delivered on some days, of all bookings but these.
select site, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks
from site_deliveries where day between $1 and $2 and booking <> all ($3::int[])
group by site order by impressions desc, site collate "C"

-- name: sighting
-- When a website was last seen, unless that is longer ago.
select site, kind, outcome, seen_ms from site_sightings where site = $1 and seen_ms > $2

-- name: sight
-- Note the last events of websites: a later one, unless a recent one worked ($5) and this does not.
insert into site_sightings (site, kind, outcome, seen_ms)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) order by 1
on conflict (site) do update set kind = excluded.kind, outcome = excluded.outcome, seen_ms = excluded.seen_ms
where case
    when excluded.seen_ms >= site_sightings.seen_ms then excluded.outcome = any ($5) or site_sightings.outcome <> all ($5)
        or excluded.seen_ms - site_sightings.seen_ms >= $6
    else excluded.outcome = any ($5) and site_sightings.outcome <> all ($5) and site_sightings.seen_ms - excluded.seen_ms < $6
end

-- name: forget_sightings
-- Forget websites that were last seen before this time, and all but the newest so many.
with old as (
    select site from site_sightings order by seen_ms desc offset $2
), locked as (
    select site from site_sightings where seen_ms <= $1 or site in (select site from old) order by site for update skip locked
)
delete from site_sightings where site = any (array(select site from locked))
