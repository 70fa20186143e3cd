-- Suspended accounts, and the indexes of the administrators' list of accounts.
-- works with: 14

alter table accounts add column suspended_ms bigint;
alter table accounts add column suspension_reason text check (length(suspension_reason) between 1 and 500);
alter table accounts add constraint accounts_suspension check ((suspended_ms is null) = (suspension_reason is null));
comment on column accounts.suspended_ms is
    'Since when an administrator has suspended the account: nothing of it is shown, and its keys and sessions are refused.';

create index accounts_newest on accounts (created_ms desc, tenant_id desc);
create index accounts_suspended on accounts (created_ms desc, tenant_id desc) where suspended_ms is not null;
