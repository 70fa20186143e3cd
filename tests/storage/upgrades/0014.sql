select record_events(7::smallint, 'node/events', 1000, 0, '{}', '{}', '{}');
