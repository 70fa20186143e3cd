create table events_20775 partition of events for values in (20775);
insert into events values ('bok_1', 20775, 'key', 1);
