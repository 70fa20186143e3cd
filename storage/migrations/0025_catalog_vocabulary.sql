-- The words of the catalog, by which searches correct misspelled words and know rare ones.
-- works with: 14

create table catalog_vocabulary (
    kind text not null,
    word text collate "C" not null,
    entries integer not null check (entries > 0),
    primary key (kind, word)
);
comment on table catalog_vocabulary is 'The stems in the entries of each kind, with the number of entries that have each. Each import counts them.';

insert into catalog_vocabulary (kind, word, entries)
select kind, word, entries
from (
    select kind, word, count(*) as entries, row_number() over (partition by kind order by count(*) desc, word) as place
    from catalog, unnest(tsvector_to_array(words)) as word
    group by kind, word
    having word !~ '[0-9[:punct:]]' and length(word) <= 40
) as counted
where place <= 100000
order by kind, word;
