-- The nodes that serve from this database.

-- name: heartbeat
-- Record that a node lives, delete some long-dead nodes, and return the other live ones, all by this server's clock.
-- Locked rows are skipped: an earlier heartbeat whose connection hangs may still hold this node's own row.
with mine as (
    select id from nodes where id = $1 for update skip locked
), moved as (
    update nodes set beaten_at = now() from mine where nodes.id = mine.id
), made as (
    insert into nodes (id, host, pid, version, url, started_ms, beaten_at)
    select $1, $2, $3, $4, $5, $6, now() where not exists (select from mine)
    on conflict (id) do nothing
), gone as (
    delete from nodes where id = any (array(
        select id from nodes where beaten_at < now() - make_interval(secs => $8) and id <> $1
        order by beaten_at limit $9 for update skip locked
    ))
)
select id, host, pid, version, url, started_ms, extract(epoch from now() - beaten_at)::float8 as age_seconds
from nodes
where beaten_at > now() - make_interval(secs => $7) and beaten_at < now() + make_interval(secs => $7) and id <> $1
order by beaten_at desc, id limit $10

-- name: leave
-- Delete a node that stopped.
delete from nodes where id = $1

-- name: live
-- The live nodes.
select id, host, pid, version, url, started_ms, extract(epoch from now() - beaten_at)::float8 as age_seconds
from nodes where beaten_at > now() - make_interval(secs => $1) and beaten_at < now() + make_interval(secs => $1)
order by beaten_at desc, id limit $2
