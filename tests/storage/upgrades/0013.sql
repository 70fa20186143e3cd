create table event_keys_20776 partition of event_keys for values in (20776);
insert into event_bookings (id) values ('bok_1');
insert into event_keys values (20776, 1, 107, true, 'key');
insert into event_counts values (1, 20776, 0, 1, 107);
insert into event_journal values (107, 'one/events', 3);
update event_switch set since = 20776;
