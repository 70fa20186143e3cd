-- Takes the words of a deleted account out of the audit along its keys, so that a step of an erasure reads what it changes. Nodes
-- of 1.1 use the function without `own`, which reads all keys in each step. 1.3 removes it.
-- works with: 27

create function forget_in_audit(email text, tenant text, own text[], until_ms bigint, most integer) returns bigint
language plpgsql as
$$ declare
    forgotten bigint;
begin
    perform set_config('catalog.audit_allows', 'UPDATE', true);
    with named as (
        -- In the order of an index, because the planner takes it that an account of many records still has them.
        (select id from audit where actor_email = email and created_ms <= until_ms order by created_ms desc, id desc limit most)
        union (select id from audit where target_id = email and created_ms <= until_ms order by created_ms desc, id desc limit most)
        union (
            select record.id from unnest(own) as thing (id) cross join lateral (
                select audit.id from audit where target_id = thing.id and changes <> '{}' and created_ms <= until_ms offset 0
            ) as record limit most
        )
    ), gone as (
        update audit set actor_email = nullif(audit.actor_email, email),
            target_id = case when target_id = email then tenant else target_id end,
            changes = case when tenant in (
                (select tenant_id from api_keys where api_keys.id = target_id),
                (select tenant_id from campaigns where campaigns.id = target_id),
                (select tenant_id from sponsors where sponsors.id = target_id),
                (select tenant_id from catalog_submissions where catalog_submissions.id = target_id)
            ) then '{}' else changes end
        where id = any (array(select id from named limit most)) returning 1
    ) select count(*) from gone into forgotten;
    perform set_config('catalog.audit_allows', '', true);
    return forgotten;
end $$;
comment on function forget_in_audit(text, text, text[], bigint, integer) is
    'Takes a deleted account''s email out of at most so many records, with its words where they are about its own keys, campaigns, sponsor or submissions, and the words out of records by others about `own`. Returns how many it changed.';
