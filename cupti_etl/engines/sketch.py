"""Quantiles that can be merged: counts of values in buckets that grow by a factor.

A value falls into the bucket of its logarithm, and the middle of a bucket is off by at most
``ERROR`` of any value in it, however many there are; counts of buckets add up, whoever counted.
Between two neighbours quantiles are interpolated as quantile_cont does, so that the estimate of a
quantile of values with one sign is within ``ERROR`` of quantile_cont's, too.  The first and the
last are known exactly; so quantiles of up to two values are exact.  (The buckets are those of
DDSketch, Masson, Rim and Lee, VLDB 2019.)
"""

from __future__ import annotations

# Of a quantile, relative to the exact one.
ERROR = 0.01
_GROWTH = (1 + ERROR) / (1 - ERROR)
# Buckets of values below 1, which rates are, have numbers from here downwards.
_ONE = 30000

# Written for DuckDB; all that another engine needs is a logarithm.
MACROS = (
    # The number of a value's bucket: in the order of the values; 0 is for 0.
    f"""CREATE OR REPLACE MACRO sketch_bucket(x) AS CASE
        WHEN x = 0 THEN 0
        ELSE TRY_CAST(sign(x) * greatest({_ONE} + ceil(ln(abs(x::DOUBLE)) / ln({_GROWTH!r})), 1)
            AS INTEGER) END""",
    # How many values are in each bucket: what a worker tells of many values.
    "CREATE OR REPLACE MACRO sketch(x) AS histogram(sketch_bucket(x))",
    # The middle of a bucket.
    f"""CREATE OR REPLACE MACRO sketch_middle(bucket) AS
        sign(bucket) * 2 * pow({_GROWTH!r}, abs(bucket) - {_ONE}) / ({_GROWTH!r} + 1)""",
    # The value of a rank from 0, an aggregate over buckets: ``until`` is how many values are in
    # them and those below, ``n`` how many there are.
    """CREATE OR REPLACE MACRO sketch_ranked(bucket, until, n, place, least, most) AS CASE
        WHEN any_value(place) <= 0 THEN any_value(least)::DOUBLE
        WHEN any_value(place) >= any_value(n) - 1 THEN any_value(most)::DOUBLE
        ELSE least(greatest(sketch_middle(min(bucket) FILTER (WHERE until > place)),
                            any_value(least)), any_value(most)) END""",
    # A quantile, an aggregate over buckets.
    """CREATE OR REPLACE MACRO sketch_quantile(bucket, until, n, q, least, most) AS
        sketch_ranked(bucket, until, n, floor(q * (n - 1)), least, most)
        + (any_value(q * (n - 1)) - floor(any_value(q * (n - 1))))
        * (sketch_ranked(bucket, until, n, ceil(q * (n - 1)), least, most)
           - sketch_ranked(bucket, until, n, floor(q * (n - 1)), least, most))""",
)
