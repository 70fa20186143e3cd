-- Placeholder.
-- works with: 27
select 1;
