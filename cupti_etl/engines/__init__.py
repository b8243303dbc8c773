"""Engines: where queries past one process of DuckDB are computed.

A trace is divided into shards (``shards``), of which no two share a process or a GPU. Each is asked
the partial statement of a query by a DuckDB on a worker, and the driver merges the rows
(``distribute``). An engine only has to run a function on many workers (``engine``), so that
others can be added beside ``processes`` and ``ray_tasks``.
"""
