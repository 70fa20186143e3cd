-- Submissions to the catalog. Mailboxes are locked first, then submissions, then the catalog, then the row of the mails.

-- name: lock_mailboxes
-- Take one lock for the mailbox of each of these tenants until the transaction ends. A mailbox has no row to lock.
select pg_advisory_xact_lock(hashtextextended(name, 0)) from (
    select distinct 'submissions ' || mailbox_of(email) as name from accounts where tenant_id = any ($1::text[]) order by name
) as sorted

-- name: siblings
-- For each of these tenants that never paid, the other accounts of its mailbox that never paid and are among them or have a
-- submission that waits.
select own.tenant_id, other.tenant_id as sibling_id
from accounts as own join accounts as other on mailbox_of(other.email) = mailbox_of(own.email) and other.email <> own.email
where own.tenant_id = any ($1::text[])
    and not exists (select from bookings where tenant_id in (own.tenant_id, other.tenant_id) and paid_ms is not null)
    and (
        other.tenant_id = any ($1::text[])
        or exists (select from catalog_submissions where tenant_id = other.tenant_id and status = 'pending')
    )

-- name: waiting
-- How many submissions of these tenants wait for review.
select tenant_id, count(*) as number from catalog_submissions where tenant_id = any ($1::text[]) and status = 'pending'
group by tenant_id

-- name: lock
-- Lock submissions by id.
select {submissions} from catalog_submissions where id = any ($1::text[]) order by id for no key update

-- name: lock_mails
-- Lock the row of the mails to administrators.
select submissions_ms from review_digest for no key update

-- name: mailed
-- Record the newest mail to administrators.
update review_digest set submissions_ms = $1

-- name: of_account
-- A page of the submissions of an account.
select {submissions} from catalog_submissions
where tenant_id = $4 and (created_ms, id) < ($1, $2) order by created_ms desc, id desc limit $3

-- name: one
-- A submission of an account.
select {submissions} from catalog_submissions where id = $1 and tenant_id = $2

-- name: newest
-- A page of submissions, newest first, with the entry that the catalog has under their slug: of the next $3 that are read, the
-- first $4 that match the search $5 or are of the account with this email. Without a search, $5 is null.
with page as materialized (
    select * from (
        select * from catalog_submissions where (created_ms, id) < ($1, $2) /* conditions */
        order by created_ms desc, id desc limit $3
    ) as read
    where $5::text is null or id = $5 or position(lower($5) in slug) > 0 or position(lower($5) in lower(name)) > 0
        or tenant_id = (select tenant_id from accounts where email = lower($5))
    order by created_ms desc, id desc limit $4
)
select {page.submissions}, (select email from accounts where accounts.tenant_id = page.tenant_id),
    (select convert_to(document::text, 'UTF8') from catalog where catalog.kind = page.kind and catalog.slug = page.slug) as current
from page
order by page.created_ms desc, page.id desc

-- name: oldest
-- The same, oldest first.
with page as materialized (
    select * from (
        select * from catalog_submissions where (created_ms, id) > ($1, $2) /* conditions */ order by created_ms, id limit $3
    ) as read
    where $5::text is null or id = $5 or position(lower($5) in slug) > 0 or position(lower($5) in lower(name)) > 0
        or tenant_id = (select tenant_id from accounts where email = lower($5))
    order by created_ms, id limit $4
)
select {page.submissions}, (select email from accounts where accounts.tenant_id = page.tenant_id),
    (select convert_to(document::text, 'UTF8') from catalog where catalog.kind = page.kind and catalog.slug = page.slug) as current
from page
order by page.created_ms, page.id

-- name: count_of
-- The number of one account's submissions, no further than $2.
select count(*) from (select from catalog_submissions where tenant_id = $1 limit $2) as counted
