insert into event_sites (host) values ('site.example.com');
insert into event_site_counts values (1, 20776, 1, 2, 1, 107);
