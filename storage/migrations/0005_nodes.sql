-- Which nodes serve from this database. Limits that each of them counts in memory are divided by their number.

create table nodes (
    id text primary key,
    host text not null,
    pid integer not null,
    version text not null,
    url text not null,
    started_ms bigint not null,
    beaten_at timestamptz not null
);
create index nodes_by_beat on nodes (beaten_at);
comment on table nodes is 'One row a process that serves; it deletes its row at a stop in order. A row without a beat for long is nobody''s.';
comment on column nodes.beaten_at is 'By the clock of this server, so that clocks of nodes may differ.';
