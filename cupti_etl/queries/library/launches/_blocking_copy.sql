-- Calls that returned only when the copy that they asked for was done: their thread waited.
--
-- computed: Calls of api_call within which a copy of memcpy began and ended that has their
--   process_id and correlation_id, as copies to pageable memory do even if they are called
--   asynchronous (PyTorch's item(), for one). From pageable memory, too, the driver waits for what
--   was asked before, then copies piece by piece over a buffer of its own, and returns when the
--   last one lies in there: of these copies, most of the time must be within the call.
-- needs: api_call, memcpy
-- materialized: Made once for an opened trace, as queries about waiting read it.
-- limits: A runtime call and the driver call inside it have a row each.
-- scope: host start_ns
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: What joins the two.
--   thread_id INTEGER: Thread that called.
--   name VARCHAR: Function called.
--   start_ns BIGINT [epoch ns]: When it was entered.
--   end_ns BIGINT [epoch ns]: When it returned.
--   is_done BOOLEAN: Whether all of the copy was done by then.
SELECT calls.process_id, calls.correlation_id, calls.thread_id, calls.name, calls.start_ns,
       calls.end_ns, memcpy.end_ns <= calls.end_ns AS is_done
FROM memcpy
JOIN api_call AS calls
    ON calls.process_id = memcpy.process_id
    AND calls.correlation_id = memcpy.correlation_id
WHERE memcpy.start_ns >= calls.start_ns
    AND (
        memcpy.end_ns <= calls.end_ns
        OR (src_kind = 'pageable' AND memcpy.end_ns - calls.end_ns < calls.end_ns - memcpy.start_ns)
    )
