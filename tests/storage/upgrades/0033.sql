select count_event_sites(1::smallint, 20500, '{1}', '{1}', '{2}', '{1}');
