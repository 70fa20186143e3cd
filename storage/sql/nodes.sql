-- The nodes that serve from this database.

-- name: heartbeat
-- Keep that a node lives, delete some that are long gone, and read which others are live, all by this server's clock. A row
-- that somebody has locked is passed over: this node's own may be locked by an earlier beat whose connection hangs.
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
-- A node is gone.
delete from nodes where id = $1

-- name: live
-- Which nodes are live.
select id, host, pid, version, url, started_ms, extract(epoch from now() - beaten_at)::float8 as age_seconds
from nodes where beaten_at > now() - make_interval(secs => $1) and beaten_at < now() + make_interval(secs => $1)
order by beaten_at desc, id limit $2
