-- Hosts whose clock is a second or more from that of the first rank: nobody keeps them together.
--
-- computed: One row a host, of its first rank, where rank_clock knows the difference.
-- scope: whole
-- gathered: _collective
-- columns:
--   rank INTEGER: The rank.
--   who VARCHAR: The rank and its host.
--   first VARCHAR: The same of the rank that is compared with.
--   ahead_ns BIGINT [ns]: How far the clock is ahead of the other.
SELECT rank, who, first, ahead_ns
FROM (
    SELECT clocks.rank, host, ahead_ns, clocks.process_id,
           concat('rank ', clocks.rank, ' on ' || host) AS who,
           first_value(who) OVER (ORDER BY clocks.rank, clocks.process_id) AS first
    FROM rank_clock AS clocks
    JOIN process ON process.process_id = clocks.process_id
)
WHERE abs(ahead_ns) >= 1000000000
QUALIFY row_number() OVER (PARTITION BY host ORDER BY rank, process_id) = 1
ORDER BY rank
