-- The audit. Each change appends its records in its own transaction.

-- name: page
-- Records before a place, newest first.
select {audit}
from audit where (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3

-- name: page_of
-- Records of one target before a place, newest first.
select {audit}
from audit where target_id = $4 and (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3

-- name: page_by
-- Records of the changes that one account made before a place, newest first.
select {audit}
from audit where actor_email = $4 and (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3

-- name: page_of_by
-- Records of the changes that one account made to one target before a place, newest first.
select {audit}
from audit where target_id = $4 and actor_email = $5 and (created_ms, id) < ($1, $2)
order by created_ms desc, id desc limit $3
