-- Which programs can use a database that a newer one has migrated, so that two releases run side by side.
-- works with: 14

alter table schema_migrations add column works_with integer;
comment on column schema_migrations.works_with is
    'The newest migration of the oldest program that can use the database with this one. Null: only programs that know it.';
