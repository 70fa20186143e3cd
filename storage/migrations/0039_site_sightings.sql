-- When websites were last seen to send an event, for the guide that tells their owners whether it works.
-- works with: 27

create table site_sightings (
    site text collate "C" primary key check (length(site) between 1 and 253),
    kind text not null,
    outcome text not null,
    seen_ms bigint not null
) with (fillfactor = 50);
comment on table site_sightings is 'The last event of each website that was seen within a day, at most 2,000 websites.';
comment on column site_sightings.outcome is 'What became of the event: recorded, or the reason why it did not count.';
