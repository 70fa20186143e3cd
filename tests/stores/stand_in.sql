-- What the service asks of Citus, on a plain Postgres: tables stay where they are, and are divided into logical shards. It
-- refuses what Citus refuses to distribute, and any transaction that writes events to two shards.

create schema citus_stand_in;
set local search_path = citus_stand_in, public;

create table pg_dist_shard (logicalrelid regclass, shardid bigint, shardminvalue text, shardmaxvalue text);
create table pg_dist_partition (logicalrelid regclass primary key, partkey text, collated oid, type oid);
create table pg_dist_placement (shardid bigint, groupid int);
create sequence shard_ids start 102008;

create function shard_count() returns int language sql
    as $$ select coalesce(nullif(current_setting('citus.shard_count', true), ''), '4')::int $$;

create function citus_version() returns text language sql
    as $$ select 'Citus 12.1.0 as a stand-in, divided by ' || shard_count() || ' and on plain Postgres' $$;

create function get_shard_id_for_distribution_column(divided regclass, probe text) returns bigint language sql stable as $$
    select shardid from citus_stand_in.pg_dist_shard
    where logicalrelid = divided and hashtext(probe) between shardminvalue::int and shardmaxvalue::int
$$;

-- Shards whose worker is away.
create table away (shardid bigint primary key);

-- What comes after a row: its transaction may write to no other shard, though counts alone may, as a demo's do.
create function hold_to_one_shard() returns trigger language plpgsql as $$
declare
    home text := citus_stand_in.get_shard_id_for_distribution_column('public.events', to_jsonb(new) ->> tg_argv[0]);
    before text := coalesce(current_setting('stand_in.shard', true), '');
begin
    if exists (select from citus_stand_in.away where shardid::text = home) then
        raise exception using errcode = '08006', message = 'connection to the remote node worker:5432 failed';
    end if;
    if before not in ('', home) then
        raise exception 'a transaction writes to shard % after shard %', home, before;
    end if;
    if tg_argv[1] = 'binds' then
        perform set_config('stand_in.shard', home, true);
    end if;
    return new;
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
    if colocate_with = 'default' then
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
    execute format('create trigger hold_to_one_shard after insert or update on %s for each row'
        ' execute function hold_to_one_shard(%L, %L)', divided, by,
        case when divided = 'public.delivery_days'::regclass then 'follows' else 'binds' end);
end
$$;

do $$ begin execute format('alter database %I set search_path = public, citus_stand_in', current_database()); end $$;
