-- Which operation of the first rank each collective operation is, by order or by times.
--
-- computed: Of those of _collective_time that times can tell. They are those of the first rank with
--   their base and kind one after the other, if both have as many, of the same sizes, and those
--   that end together overlap, or may have ended at once as far as the clocks are known
--   (_clock_base). If not, recordings began and ended apart, or miss some: an operation is the one
--   whose end is nearest, if the two overlap or may have ended so, have one size and neither has a
--   nearer one, or the one between those of its neighbours.
-- requires: _collective
-- limits: Operations that the first rank of a group does not have have no row. Broadcasts and sends
--   may end apart.
-- scope: whole
-- columns:
--   id BIGINT: Number of the operation, as in _collective_time.
--   first_id BIGINT: That of the first rank, which may be its own.
--   is_in_order BOOLEAN: Whether they are one after the other.
WITH timed AS (
    -- When each may have ended, as far as the clock of its process is known.
    SELECT times.*, until_ns - coalesce(ahead_high_ns - ahead_ns, 0) AS earliest_ns,
           until_ns + coalesce(ahead_ns - ahead_low_ns, 0) AS latest_ns
    FROM _collective_time AS times
    JOIN _clock_base AS clocks USING (process_id)
    WHERE is_by_time
),
ordered AS (
    SELECT *, row_number() OVER (PARTITION BY kind, process_id, gpu ORDER BY begin_ns, id) AS place,
           count(*) OVER (PARTITION BY kind, process_id, gpu) AS operations
    FROM timed
),
in_order AS (
    SELECT ordered.id, firsts.id AS first_id
    FROM ordered
    JOIN (FROM ordered WHERE is_first) AS firsts USING (kind, base_id, place, operations)
    WHERE NOT ordered.is_first
    QUALIFY bool_and(
        (ordered.bytes = firsts.bytes OR NOT ordered.is_of_one_size) IS NOT FALSE
        AND (NOT ordered.ends_together
             OR (ordered.begin_ns < firsts.until_ns AND firsts.begin_ns < ordered.until_ns)
             OR (ordered.earliest_ns <= firsts.latest_ns
                 AND firsts.earliest_ns <= ordered.latest_ns))
    ) OVER (PARTITION BY ordered.kind, ordered.process_id, ordered.gpu)
),
-- Ends up to the middle between two of the first rank are nearer to the first of these.
firsts AS (
    SELECT id, kind, base_id, bytes, begin_ns, until_ns, earliest_ns, latest_ns,
           row_number() OVER ends AS place,
           until_ns - coalesce((until_ns - lag(until_ns) OVER ends) // 2, 4611686018427387904)
               AS from_ns
    FROM timed
    WHERE is_first
    WINDOW ends AS (PARTITION BY kind, base_id ORDER BY until_ns, id)
),
nearest AS (
    SELECT timely.id, place
    FROM timed AS timely
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
    FROM timed AS timely
    LEFT JOIN nearest ON nearest.id = timely.id
    WINDOW own AS (PARTITION BY process_id, gpu, kind ORDER BY until_ns, timely.id)
),
by_times AS (
    SELECT places.id, firsts.id AS first_id
    FROM places
    JOIN firsts USING (kind, base_id, place)
    WHERE ((places.begin_ns < firsts.until_ns AND firsts.begin_ns < places.until_ns)
           OR (places.earliest_ns <= firsts.latest_ns AND firsts.earliest_ns <= places.latest_ns))
        AND (places.bytes = firsts.bytes OR NOT is_of_one_size) IS NOT FALSE
)
SELECT id, coalesce(in_order.first_id, by_times.first_id) AS first_id,
       in_order.first_id IS NOT NULL AS is_in_order
FROM in_order
FULL JOIN by_times USING (id)
