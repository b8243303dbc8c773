-- Arguments of collectives, of work on a GPU or of an operator.
--
-- computed: Those with the name of a collective or a size of a message.
-- requires:
--   argument: no arguments were recorded.
-- rare: Many traces have none, and all arguments are looked through.
-- scope: whole
-- columns:
--   process_id, correlation_id, marker_id, arguments of argument
SELECT process_id, correlation_id, marker_id, arguments
FROM argument
WHERE contains(arguments, 'Collective name') OR contains(arguments, 'Message size [bytes]')
