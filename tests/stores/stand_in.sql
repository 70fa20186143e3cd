-- What the service asks of Citus, on a plain Postgres: tables stay where they are, and their rows belong to logical shards of
-- two workers. A connection is to a worker if its application name says so. It refuses what Citus refuses to distribute,
-- and any transaction that writes events to the shards of two workers, or to shards of another worker than its own.

create schema citus_stand_in;
set local search_path = citus_stand_in, public;

create table pg_dist_shard (logicalrelid regclass, shardid bigint, shardminvalue text, shardmaxvalue text);
create table pg_dist_partition (logicalrelid regclass primary key, partkey text, collated oid, type oid);
create table pg_dist_placement (shardid bigint, groupid int);
create sequence shard_ids start 102008;

-- Tests say where the workers are, which is this server.
create table pg_dist_node (groupid int primary key, noderole text default 'primary', nodename text, nodeport int);
create view pg_dist_local_group as
select coalesce(substring(current_setting('application_name') from 'worker (\d+)$')::int, 0) as groupid;

create function shard_count() returns int language sql
    as $$ select coalesce(nullif(current_setting('citus.shard_count', true), ''), '4')::int $$;

create function citus_version() returns text language sql
    as $$ select 'Citus 12.1.0 as a stand-in, divided by ' || shard_count() || ' and on plain Postgres' $$;

create function get_shard_id_for_distribution_column(divided regclass, probe int) returns bigint language sql stable as $$
    select shardid from citus_stand_in.pg_dist_shard
    where logicalrelid = divided and hashint4(probe) between shardminvalue::int and shardmaxvalue::int
$$;

-- Citus reports what passes by itself without a SQLSTATE of its own. Tests let a worker fail so at a write or at the commit.
create table failing (groupid int, moment text, words text);

create function fail_if_wanted(at_moment text) returns void language plpgsql as $$
declare
    said text := (
        select words from citus_stand_in.failing
        where groupid = (select groupid from citus_stand_in.pg_dist_local_group) and moment = at_moment
    );
begin
    if said is not null then
        raise exception using errcode = 'XX000', message = said;
    end if;
end
$$;

-- What comes with a row: its shard stays where it is until the transaction ends.
create function hold_shard() returns trigger language plpgsql as $$
declare
    shard bigint := citus_stand_in.get_shard_id_for_distribution_column('public.event_keys', (to_jsonb(new) ->> 'place')::int);
begin
    perform citus_stand_in.fail_if_wanted('write');
    perform from citus_stand_in.pg_dist_placement where shardid = shard for share;
    return new;
end
$$;

-- What comes at a commit. Citus would send rows of another worker there, and commit in two phases.
create function keep_to_one_worker() returns trigger language plpgsql as $$
declare
    shard bigint := citus_stand_in.get_shard_id_for_distribution_column('public.event_keys', (to_jsonb(new) ->> 'place')::int);
    home int := (select groupid from citus_stand_in.pg_dist_placement where shardid = shard);
    here int := (select groupid from citus_stand_in.pg_dist_local_group);
begin
    if here not in (0, home) then
        raise exception 'a transaction on worker % writes to worker %', here, home;
    end if;
    perform citus_stand_in.fail_if_wanted('commit');
    return null;
end
$$;

create function create_distributed_table(divided regclass, by text, colocate_with text default 'default') returns void
    language plpgsql set search_path = citus_stand_in, public as $$
declare
    shards int := shard_count();
    width bigint := (4294967296 / shards)::bigint;
    beside pg_dist_partition;
    attribute pg_attribute;
begin
    select * into strict attribute from pg_attribute where attrelid = divided and attname = by;
    if exists (select from pg_index where indrelid = divided and indisunique and not attribute.attnum = any (indkey)) then
        raise exception 'cannot create constraint on %: it does not include %', divided, by;
    end if;
    if exists (select from pg_constraint where contype = 'f' and divided in (conrelid, confrelid)) then
        raise exception 'cannot create a foreign key of % to or from a local table', divided;
    end if;
    if exists (select from pg_trigger where tgrelid = divided and not tgisinternal) then
        raise exception 'cannot distribute %: triggers are not supported', divided;
    end if;
    insert into pg_dist_partition values (divided, by, attribute.attcollation, attribute.atttypid);
    if colocate_with in ('default', 'none') then
        insert into pg_dist_shard
        select divided, nextval('shard_ids'), -2147483648 + n * width,
            case when n = shards - 1 then 2147483647 else -2147483648 + (n + 1) * width - 1 end
        from generate_series(0, shards - 1) as n;
    else
        select * into strict beside from pg_dist_partition where logicalrelid = colocate_with::regclass;
        if (beside.collated, beside.type) <> (attribute.attcollation, attribute.atttypid) then
            raise exception 'cannot colocate tables % and %', colocate_with, divided;
        end if;
        insert into pg_dist_shard
        select divided, nextval('shard_ids'), shardminvalue, shardmaxvalue from pg_dist_shard
        where logicalrelid = colocate_with::regclass order by shardid;
    end if;
    -- Two workers take turns.
    insert into pg_dist_placement
    select shardid, 1 + (row_number() over (order by shardid) % 2) from pg_dist_shard where logicalrelid = divided;
    execute format('create trigger hold_shard before insert or update on %s for each row execute function hold_shard()', divided);
    execute format('create constraint trigger keep_to_one_worker after insert or update on %s deferrable initially deferred'
        ' for each row execute function keep_to_one_worker()', divided);
end
$$;

-- Moves the shards of a worker to another one, after the transactions that have written to them.
create function move_shards(from_group int, to_group int) returns void language sql as $$
    lock table citus_stand_in.pg_dist_placement in exclusive mode;
    update citus_stand_in.pg_dist_placement set groupid = to_group where groupid = from_group
$$;
