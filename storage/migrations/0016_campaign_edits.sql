-- Edits of running campaigns, which wait beside the approved content.
-- works with: 14

alter table campaigns
    add column pending json,
    add column submitted_ms bigint;
comment on column campaigns.pending is 'The edit that waits for review while the approved content is shown.';
comment on column campaigns.submitted_ms is 'When it, or its edit, last began to wait for review.';
create index campaigns_edited on campaigns (created_ms desc, id desc) where pending is not null;
create index campaigns_waiting on campaigns (submitted_ms) where status = 'pending' or pending is not null;
