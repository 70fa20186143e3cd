insert into site_sightings (site, kind, outcome, seen_ms) values ('site.example.com', 'click', 'inactive', 1);
