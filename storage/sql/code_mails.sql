-- Letters to mailboxes, counted by network.

-- name: lock
-- Lock counts by id.
select {code_mail_counts} from letter_counts
where id = any ($1::bytea[]) order by id for update

-- name: prune
-- Delete counts that neither limit a letter nor remember a network any more, and return how many.
{delete from letter_counts by id where greatest(sent_ms, known_until_ms) < $1 order by greatest(sent_ms,
    known_until_ms) limit $2 for update skip locked}
