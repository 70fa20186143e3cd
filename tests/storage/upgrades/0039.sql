insert into site_sightings (host, kind, outcome, seen_ms) values ('site.example.com', 'click', 'inactive', 1);
