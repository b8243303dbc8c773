-- Collective operations, each with a number that it has on every rank.
--
-- computed: By the communicator, the function and the number that NCCL gave them, if several ranks
--   have that of an operation. Else, where PyTorch numbered them in their group, by that. Else
--   clocks are put together by _clock_base, and operations are those of the first rank with their
--   base, kernel and group: one after the other, if both have as many, of the same sizes, and those
--   that end together overlap. If not, recordings began and ended apart, or miss some: an operation
--   is the one whose end is nearest, if the two overlap, have one size and neither has a nearer
--   one, or the one between those of its neighbours. Where NCCL tells of sends and receives
--   (_nccl_pair), a kernel is one operation with those that exchange with it alone. By their times
--   are matched only kernels of which several exchange with several, as in an all-to-all, and,
--   where NCCL does not tell, sends and receives of two GPUs: of more, it is not known which two
--   belong together.
-- materialized: Made once for an opened trace, as bandwidths and stragglers read it.
-- limits: Operations that the first rank of a group does not have are not matched. Broadcasts and
--   sends may end apart.
-- scope: start_ns
-- columns:
--   process_id, rank, gpu of collective
--   collective VARCHAR: AllReduce, AllGather, ReduceScatter and so on.
--   name VARCHAR: Mangled name.
--   process_group VARCHAR: Name of the group; NULL if not known.
--   operation BIGINT: Number of the operation in this trace, from 1; unmatched ones have their own.
--   start_ns BIGINT [epoch ns]: When it began, by the clock of its process.
--   end_ns, exposed_ns, bytes of collective
--   element_type VARCHAR: Type of an element; NULL if not known.
--   group_size BIGINT [ranks]: Ranks that take part; NULL if not known.
--   communicator BIGINT: NCCL's id of the group; NULL if NCCL did not tell.
--   algorithm, protocol, call_start_ns of collective
--   matched_by VARCHAR: nccl (its numbers), pytorch (its numbers), order or clock; NULL if it was
--     not.
--   ends_together BOOLEAN: Whether no rank can end it before the last has begun it.
--   reason VARCHAR: Why it was not matched; NULL if it was, or if only one GPU of the trace has
--     operations of its kernel, group and size.
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
    FROM (SELECT DISTINCT kind, rank, process_id, gpu FROM collective) AS each
    JOIN _clock_base AS clocks USING (process_id)
),
timed AS MATERIALIZED (
    SELECT collective.*, base_id, clock_reason, is_first, members,
           ahead_ns + coalesce(TRY_CAST(drift_ppm * (end_ns - at_ns) / 1e6 AS BIGINT), 0)
               AS then_ahead_ns,
           row_number() OVER (ORDER BY end_ns - then_ahead_ns, rank, collective.process_id,
                                       collective.gpu, name, number) AS id,
           start_ns - then_ahead_ns AS begin_ns, end_ns - then_ahead_ns AS until_ns,
           kernel, is_middle, CASE WHEN mates = 1 THEN mate END AS mate,
           CASE WHEN mates IS NULL THEN collective <> 'SendRecv' OR members <= 2
                ELSE mates > 1 AND NOT is_middle END AS is_by_time
    FROM collective
    JOIN series
        ON series.kind = collective.kind
        AND series.process_id = collective.process_id
        AND series.gpu IS NOT DISTINCT FROM collective.gpu
    LEFT JOIN told
        ON kernel = (collective.process_id, collective.start_ns, collective.end_ns)
),
-- Of kernels of which NCCL tells who exchanges with whom: the middle, and who has it as a mate.
paired AS (
    SELECT id, least(pair_id, CASE WHEN is_middle THEN id END) AS pair_id
    FROM timed
    LEFT JOIN (SELECT kernel AS mate, min(id) AS pair_id FROM timed WHERE is_middle GROUP BY kernel)
        USING (mate)
    WHERE is_middle IS NOT NULL
),
-- By their order: the first rank has as many, and nothing speaks against it.
ordered AS (
    SELECT *, row_number() OVER (PARTITION BY kind, process_id, gpu ORDER BY begin_ns, id) AS place,
           count(*) OVER (PARTITION BY kind, process_id, gpu) AS operations
    FROM timed
    WHERE is_by_time
),
in_turn AS (
    SELECT ordered.id, firsts.id AS turn_id
    FROM ordered
    JOIN (FROM ordered WHERE is_first) AS firsts
        ON firsts.kind = ordered.kind
        AND firsts.base_id = ordered.base_id
        AND firsts.place = ordered.place
        AND firsts.operations = ordered.operations
    WHERE NOT ordered.is_first
    QUALIFY bool_and(
        (ordered.bytes = firsts.bytes OR NOT ordered.is_of_one_size) IS NOT FALSE
        AND (NOT ordered.ends_together
             OR (ordered.begin_ns < firsts.until_ns AND firsts.begin_ns < ordered.until_ns))
    ) OVER (PARTITION BY ordered.kind, ordered.process_id, ordered.gpu)
),
-- By times: the operation of the first rank whose end is nearest. Ends up to the middle between
-- two ends are nearer to the first.
firsts AS (
    SELECT id, kind, base_id, bytes, begin_ns, until_ns, row_number() OVER ends AS place,
           until_ns - coalesce((until_ns - lag(until_ns) OVER ends) // 2, 4611686018427387904)
               AS from_ns
    FROM timed
    WHERE is_first AND is_by_time
    WINDOW ends AS (PARTITION BY kind, base_id ORDER BY until_ns, id)
),
timely AS (
    SELECT id, kind, base_id, process_id, gpu, bytes, is_of_one_size, begin_ns, until_ns
    FROM timed
    WHERE is_by_time
),
nearest AS (
    SELECT timely.id, place
    FROM timely
    ASOF JOIN firsts
        ON firsts.kind = timely.kind
        AND firsts.base_id = timely.base_id
        AND firsts.from_ns <= timely.until_ns
    QUALIFY row_number() OVER (
        PARTITION BY process_id, gpu, firsts.id
        ORDER BY abs(timely.until_ns - firsts.until_ns), timely.id
    ) = 1
),
-- Of two with one nearest, the other is what lies between those of its neighbours.
places AS (
    SELECT timely.*, coalesce(place, CASE WHEN lag(place) OVER own + 2 = lead(place) OVER own
                                          THEN lag(place) OVER own + 1 END) AS place
    FROM timely
    LEFT JOIN nearest ON nearest.id = timely.id
    WINDOW own AS (PARTITION BY process_id, gpu, kind ORDER BY until_ns, timely.id)
),
placed AS (
    SELECT places.id, firsts.id AS first_id
    FROM places
    JOIN firsts USING (kind, base_id, place)
    WHERE places.begin_ns < firsts.until_ns AND firsts.begin_ns < places.until_ns
        AND (places.bytes = firsts.bytes OR NOT is_of_one_size) IS NOT FALSE
),
-- What has a number, or a pair or a nearest one, is of one operation.
turns AS (
    SELECT timed.id, kind, collective, communicator, nccl_sequence, sequence,
           coalesce(turn_id, first_id) AS first_id, turn_id, pair_id,
           row_number() OVER (PARTITION BY process_id, gpu, kind, sequence ORDER BY timed.id)
               AS turn,
           row_number() OVER (
               PARTITION BY process_id, gpu, communicator, collective, nccl_sequence
               ORDER BY timed.id
           ) AS nccl_turn
    FROM timed
    LEFT JOIN in_turn ON in_turn.id = timed.id
    LEFT JOIN placed ON placed.id = timed.id
    LEFT JOIN paired ON paired.id = timed.id
),
by_nccl AS (
    SELECT *, CASE WHEN nccl_sequence IS NOT NULL AND count(*) OVER same > 1
                   THEN min(id) OVER same ELSE pair_id END AS nccl_id
    FROM turns
    WINDOW same AS (PARTITION BY communicator, collective, nccl_sequence, nccl_turn)
),
-- A rank to which NCCL did not tell belongs to those to which it did.
numbered AS (
    SELECT *, coalesce(nccl_id, CASE WHEN sequence IS NOT NULL
                                     THEN coalesce(min(nccl_id) OVER same, min(id) OVER same) END)
               AS number_id
    FROM by_nccl
    WINDOW same AS (PARTITION BY kind, sequence, turn)
),
matched AS (
    SELECT numbered.id, numbered.nccl_id, numbered.number_id,
           coalesce(numbered.number_id, firsts.number_id, numbered.first_id, numbered.id)
               AS operation_id,
           count(*) OVER (PARTITION BY operation_id) > 1 AS is_matched,
           count(numbered.turn_id) OVER (PARTITION BY operation_id) > 0 AS is_in_turn,
           dense_rank() OVER (ORDER BY operation_id) AS operation
    FROM numbered
    LEFT JOIN numbered AS firsts ON firsts.id = numbered.first_id
)
SELECT process_id, rank, gpu, collective, name, process_group,
       operation, start_ns, end_ns, exposed_ns, bytes,
       element_type, group_size, communicator, algorithm, protocol, call_start_ns,
       CASE WHEN NOT is_matched THEN NULL WHEN nccl_id IS NOT NULL THEN 'nccl'
            WHEN sequence IS NOT NULL THEN 'pytorch' WHEN is_in_turn THEN 'order' ELSE 'clock'
            END AS matched_by,
       ends_together,
       CASE WHEN members > 1 AND NOT is_matched
            THEN coalesce(CASE WHEN number_id IS NOT NULL OR nccl_sequence IS NOT NULL THEN NULL
                               WHEN is_by_time THEN clock_reason
                               WHEN kernel IS NULL THEN 'it is not known who sends to whom' END,
                          'no other rank has it') END AS reason
FROM timed
JOIN matched ON matched.id = timed.id
