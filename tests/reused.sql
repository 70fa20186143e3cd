-- What makes a database of tests empty again, for the next test: ten times as cheap as a copy of the template. Schema `kept` has
-- the rows of the template, and notes each change of the schema, after which the database is not used again.

drop schema if exists kept cascade;
create schema kept;
create table kept.changes (command text);
create table kept.settings as select setconfig from pg_db_role_setting
    where setdatabase = (select oid from pg_database where datname = current_database());

create table kept.sequences as
    select format('%I.%I', schemaname, sequencename)::regclass as name, start_value, last_value from pg_sequences;
create table kept.days as select inhrelid::regclass as day from pg_inherits where inhparent = 'public.event_keys'::regclass;

-- New days of events are no change: they are dropped.
create function kept.note() returns event_trigger language plpgsql as $$
begin
    insert into kept.changes select command_tag from pg_event_trigger_ddl_commands()
    where not (command_tag in ('CREATE TABLE', 'CREATE INDEX', 'COMMENT') and object_identity ~ '^public\.event_keys_\d+')
        and not (command_tag = 'ALTER TABLE' and object_identity = 'public.event_keys');
    insert into kept.changes select tg_tag where tg_tag like 'DROP%';
end
$$;

create function kept.tables() returns setof pg_class language sql stable as $$
    select * from pg_class
    where relkind = 'r' and (pg_relation_size(oid) > 0 or to_regclass(format('kept.%I', relname)) is not null)
        and relnamespace not in (select oid from pg_namespace where nspname in ('kept', 'information_schema') or nspname ~ '^pg_')
$$;

do $$
declare
    each record;
begin
    for each in select relname, oid::regclass as name from kept.tables() loop
        execute format('create table kept.%I as table %s', each.relname, each.name);
    end loop;
end
$$;

-- Ends what is still connected, drops new days, and restores the rows of the template. Returns false for a database that has a
-- changed schema, other settings, or a table of more than 30 pages. Rows are deleted: truncating costs a millisecond a table.
create function kept.emptied() returns boolean language plpgsql set session_replication_role = replica as $$
declare
    me oid := (select oid from pg_database where datname = current_database());
    each record;
begin
    perform pg_terminate_backend(pid, 5000) from pg_stat_get_activity(null)
    where datid = me and pid <> pg_backend_pid() and backend_type = 'client backend';
    if exists (select from kept.changes)
        or exists (select setconfig from pg_db_role_setting where setdatabase = me except table kept.settings) then
        return false;
    end if;
    for each in select inhrelid::regclass as name from pg_inherits
        where inhparent = 'public.event_keys'::regclass and inhrelid::regclass not in (select day from kept.days) loop
        execute format('drop table %s', each.name);
    end loop;
    for each in select relname, oid::regclass as name, pg_relation_size(oid) > 30 * 8192 as long from kept.tables() loop
        if each.long then
            return false;
        end if;
        execute format('delete from %s', each.name);
        if to_regclass(format('kept.%I', each.relname)) is not null then
            execute format('insert into %s select * from kept.%I', each.name, each.relname);
        end if;
    end loop;
    perform setval(name, coalesce(last_value, start_value), last_value is not null) from kept.sequences
    where pg_sequence_last_value(name) is distinct from last_value;
    return true;
end
$$;

create event trigger note on ddl_command_end execute function kept.note();
