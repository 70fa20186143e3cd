insert into site_sightings (website, kind, outcome, seen_ms) values ('site.example.com', 'click', 'inactive', 1);
