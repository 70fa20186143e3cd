-- Finds the live keys and sessions of an account, the accounts of a mailbox, those that have paid, and the reviews of a campaign,
-- without a look at what has ended: one account can leave any number of ended rows.
-- works with: 27

-- Several tables, in the order in which nodes write them, so that neither waits for the other.
create function mailbox_of(email text) returns text immutable strict parallel safe language sql
    return regexp_replace(email, '^([^+]+)[+].*@([^@]*)$', '\1@\2');
comment on function mailbox_of is 'The address without its tag, as actors.shared.code_mails.mailbox_of has it.';
create index accounts_by_mailbox on accounts (mailbox_of(email));

create index sessions_live on sessions (email, expires_ms) where revoked_ms is null;

-- The planner cannot know that few keys of an account are live. With a collation of its own, this index is the only one that
-- serves `tenant_id collate "C" = ...`, so that the one of all keys of an account is not taken in its place.
create index api_keys_live on api_keys (tenant_id collate "C", (coalesce(expires_ms, 9223372036854775807))) where revoked_ms is null;
create index api_keys_made on api_keys (tenant_id, created_ms);

create index bookings_paid_of_tenant on bookings (tenant_id) where paid_ms is not null;

create index audit_of_reviews on audit (target_id)
    where action in ('campaign.approved', 'campaign.edit_approved', 'campaign.rejected', 'campaign.edit_rejected');
