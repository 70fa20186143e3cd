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
