-- How many rows each table has.
--
-- computed: One row a table. In an opened trace of folders the parts say so, of which none is read.
-- scope: whole
-- columns:
--   table_name VARCHAR: Its name.
--   is_recorded BOOLEAN: Whether its rows are of a program or a GPU, and not ours about them.
--   has_key BOOLEAN: Whether what several traces hold is shown once.
--   rows BIGINT [rows]: How many there are.
SELECT table_name, is_recorded, has_key, rows FROM _table_extent
