-- The audit. Each change appends its records in its own transaction.

-- name: append
-- Append records, in one order on all nodes. A campaign's record may exist; the batch then runs again.
insert into audit (id, created_ms, actor_type, actor_id, action, target_type, target_id, actor_email, request_id, changes)
select id, created_ms, actor_type, actor_id, action, target_type, target_id, actor_email, request_id, changes::jsonb
from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[]) as made (id, created_ms, actor_type, actor_id, action, target_type, target_id, actor_email, request_id,
    changes)
order by id

-- name: page
-- Records before a place, newest first.
select id, created_ms, actor_type, actor_id, action, target_type, target_id, actor_email, request_id, changes
from audit where (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3

-- name: page_of
-- Records of one target before a place, newest first.
select id, created_ms, actor_type, actor_id, action, target_type, target_id, actor_email, request_id, changes
from audit where target_id = $4 and (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3

-- name: page_by
-- Records of the changes that one account made before a place, newest first.
select id, created_ms, actor_type, actor_id, action, target_type, target_id, actor_email, request_id, changes
from audit where actor_email = $4 and (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3

-- name: page_of_by
-- Records of the changes that one account made to one target before a place, newest first.
select id, created_ms, actor_type, actor_id, action, target_type, target_id, actor_email, request_id, changes
from audit where target_id = $4 and actor_email = $5 and (created_ms, id) < ($1, $2)
order by created_ms desc, id desc limit $3
