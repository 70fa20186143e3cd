-- When a refund was made at the processor, which says whether a total of refunds has it.
-- works with: 27

alter table payment_reports add column made_ms bigint;
comment on column payment_reports.made_ms is 'When a refund was made at the processor. Null: a total, a dispute, or not known.';
