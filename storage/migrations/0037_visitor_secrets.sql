-- The random secret of each UTC day, under which events of the unit day are hashed. A node deletes it 12 hours after its day.
-- works with: 27

create table visitor_secrets (
    day integer primary key,
    secret bytea not null check (length(secret) = 32)
) with (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0);
comment on table visitor_secrets is
    'Never part of a backup: whoever has a secret can test which addresses and user agents have events on its day. Deleted rows are vacuumed at once.';
