insert into catalog_changes (kind, slug, change, at_ms, document)
values ('bots', 'gone', 'removed', 5, '{"slug":"gone","addedAt":1}');
update catalog_forgotten set number = 1;
