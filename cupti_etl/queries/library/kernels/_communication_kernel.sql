-- Kernels that communicate.
--
-- computed: Those of kernel_rule whose category is communication.
-- materialized: Few names, by which every activity is told apart; of many a trace none.
-- scope: whole
-- columns:
--   mangled VARCHAR: Mangled name.
SELECT mangled FROM kernel_rule WHERE category = 'communication'
