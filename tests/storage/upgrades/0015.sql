update schema_migrations set works_with = 14 where version = 15;
