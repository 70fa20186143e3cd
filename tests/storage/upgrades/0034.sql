insert into tenants (id, tier) values ('ten_submitter', 'claimed');
insert into catalog_submissions (id, tenant_id, kind, slug, name, entry, created_ms, status)
values ('sub_1', 'ten_submitter', 'bots', 'sorter', 'Sorter', '{}', 1, 'pending');
