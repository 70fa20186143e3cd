insert into shared_reports (id, tenant_id, token_hash, first_day, last_day, campaign_id, slot_id, costs, created_ms)
values ('shr_1', 'ten_1', sha256('a'), 20000, 20006, null, 'left-1', false, 1700000000000);
