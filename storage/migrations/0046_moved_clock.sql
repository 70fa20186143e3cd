-- By how much the clock of a service for developers is ahead.
-- works with: 27

alter table identity add column clock_ahead_ms bigint not null default 0 check (clock_ahead_ms >= 0);
comment on column identity.clock_ahead_ms is 'Milliseconds by which the clock was moved at /dev/clock; 0: never.';
