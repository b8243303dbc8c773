"""A catalogue of runs: which traces lie below a folder or in a bucket, and how runs changed.

``find`` looks for traces, ``catalogue`` keeps a row of each in a Parquet file beside them, and
``answers`` makes tables of the rows.
"""
