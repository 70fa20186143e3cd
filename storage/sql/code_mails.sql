-- Letters to mailboxes, counted by network.

-- name: lock
-- Lock counts by id.
select {code_mail_counts} from letter_counts
where id = any ($1::bytea[]) order by id for update
