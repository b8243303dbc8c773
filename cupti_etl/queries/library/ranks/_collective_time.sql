-- Collective operations by one clock, and how each can be matched with those of other ranks.
--
-- computed: Rows of _collective by the clock of their base (_clock_base), numbered by their ends
--   there. Where NCCL tells of sends and receives (_nccl_pair), a kernel is one operation with
--   those that exchange with it alone. By their times are matched only kernels of which several
--   exchange with several, as in an all-to-all, and, where NCCL does not tell, sends and receives
--   of two GPUs: of more, it is not known which two belong together.
-- requires: _collective
-- materialized: Made once for an opened trace, as operations are matched by it in several ways.
-- scope: start_ns
-- columns:
--   id BIGINT: Number of the row, from 1.
--   process_id, rank, gpu, collective, name, number, sequence, communicator, nccl_sequence,
--     algorithm, protocol, call_start_ns, kind, ends_together, is_of_one_size of _collective
--   start_ns BIGINT [epoch ns]: When it began, by the clock of its process.
--   end_ns, bytes, element_type, group_size of _collective
--   base_id BIGINT: The process with whose clock that of this one is compared.
--   begin_ns BIGINT [epoch ns]: When it began, by that clock.
--   until_ns BIGINT [epoch ns]: When it ended, by that clock.
--   is_first BOOLEAN: Whether it is of the first rank with its base and kind.
--   members BIGINT [GPUs]: How many have operations of its kind.
--   clock_reason VARCHAR: Why clocks of those that have its kind are not compared; NULL if all are.
--   is_middle BOOLEAN: Whether NCCL says that all that exchange with it exchange with it alone;
--     NULL if it does not tell with whom.
--   middle_id BIGINT: id of the middle that it exchanges with, or is; NULL if there is none.
--   is_by_time BOOLEAN: Whether its times can tell which operation it is.
WITH exchanges AS (
    -- Which kernels exchange with which, both ways.
    SELECT (process_id, start_ns, end_ns) AS kernel,
           (receive_process_id, receive_start_ns, receive_end_ns) AS mate
    FROM _nccl_pair
    UNION
    SELECT (receive_process_id, receive_start_ns, receive_end_ns), (process_id, start_ns, end_ns)
    FROM _nccl_pair
),
-- A middle is one all of whose mates have no other: both of a send and its receive, the root of a
-- scatter.
told AS (
    SELECT kernel, count(*) AS mates, any_value(mate) AS mate, max(of_mate) = 1 AS is_middle
    FROM (SELECT *, count(*) OVER (PARTITION BY mate) AS of_mate FROM exchanges)
    GROUP BY kernel
),
-- What all operations of one kind on one GPU have in common.
series AS MATERIALIZED (
    SELECT kind, process_id, gpu, base_id, ahead_ns, drift_ppm, at_ns,
           count(*) OVER (PARTITION BY kind) AS members,
           rank() OVER (
               PARTITION BY kind, base_id ORDER BY each.rank, process_id, gpu
           ) = 1 AS is_first,
           CASE WHEN min(base_id) OVER (PARTITION BY kind) <> max(base_id) OVER (PARTITION BY kind)
                THEN max(reason) OVER (PARTITION BY kind) END AS clock_reason
    FROM (SELECT DISTINCT kind, rank, process_id, gpu FROM _collective) AS each
    JOIN _clock_base AS clocks USING (process_id)
),
timed AS MATERIALIZED (
    SELECT _collective.*, base_id, clock_reason, is_first, members,
           ahead_ns + coalesce(TRY_CAST(drift_ppm * (end_ns - at_ns) / 1e6 AS BIGINT), 0)
               AS then_ahead_ns,
           row_number() OVER (ORDER BY end_ns - then_ahead_ns, rank, _collective.process_id,
                                       _collective.gpu, name, number) AS id,
           start_ns - then_ahead_ns AS begin_ns, end_ns - then_ahead_ns AS until_ns,
           kernel, is_middle, CASE WHEN mates = 1 THEN mate END AS mate,
           CASE WHEN mates IS NULL THEN collective <> 'SendRecv' OR members <= 2
                ELSE mates > 1 AND NOT is_middle END AS is_by_time
    FROM _collective
    JOIN series
        ON series.kind = _collective.kind
        AND series.process_id = _collective.process_id
        AND series.gpu IS NOT DISTINCT FROM _collective.gpu
    LEFT JOIN told
        ON kernel = (_collective.process_id, _collective.start_ns, _collective.end_ns)
),
middles AS (
    SELECT kernel AS mate, min(id) AS id FROM timed WHERE is_middle GROUP BY kernel
)
SELECT timed.id, process_id, rank, gpu, collective, name, number, sequence, communicator,
       nccl_sequence, algorithm, protocol, call_start_ns, kind, ends_together, is_of_one_size,
       start_ns, end_ns, bytes, element_type, group_size,
       base_id, begin_ns, until_ns, is_first, members, clock_reason, is_middle,
       least(middles.id, CASE WHEN is_middle THEN timed.id END) AS middle_id, is_by_time
FROM timed
LEFT JOIN middles ON middles.mate = timed.mate
