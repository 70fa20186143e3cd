insert into event_journal (place, owner, seq, known, known_seq) values (48, 'node48/events', 48, '{2, 3}', 48);
