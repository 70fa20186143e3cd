-- Finds the live keys of an account, counts the keys that it made on a day without a look at those that have ended, and finds
-- the accounts of a mailbox.
-- works with: 27

-- Two tables, in the order in which nodes write them, so that neither waits for the other.
create function mailbox_of(email text) returns text immutable strict parallel safe language sql
    return regexp_replace(email, '^([^+]+)[+].*@([^@]*)$', '\1@\2');
comment on function mailbox_of is 'The address without its tag, as actors.shared.code_mails.mailbox_of has it.';
create index accounts_by_mailbox on accounts (mailbox_of(email));

create index api_keys_live on api_keys (tenant_id, (coalesce(expires_ms, 9223372036854775807))) where revoked_ms is null;
create index api_keys_made on api_keys (tenant_id, created_ms);
