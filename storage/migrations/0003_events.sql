-- Keys of placement events, by UTC day: each counts once in its bucket. What they add up to is in delivery_days.

create table events (
    booking_id text collate "C" not null,
    day integer not null,
    key bytea not null,
    kind smallint not null check (kind in (0, 1)),
    primary key (booking_id, day, key)
) partition by list (day);
comment on table events is 'One row an event: 0 an impression, 1 a click. A partition a day; the service makes and drops them.';
comment on column events.key is 'A hash of booking, kind, hour and visitor, keyed with a secret of the day.';
