-- The billing mode that a database is used with, so that a node of another mode does not start.

alter table identity add column billing_mode text check (billing_mode in ('test', 'live'));
comment on column identity.billing_mode is 'Set by the first node that starts, changed by set-billing-mode.';

update identity set billing_mode = 'live' where exists (select from bookings where mode = 'live');
