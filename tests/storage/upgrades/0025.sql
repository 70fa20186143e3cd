insert into catalog_vocabulary (kind, word, entries) values ('bots', 'invoic', 3), ('usecases', 'naïv', 1)
on conflict (kind, word) do update set entries = 9;
