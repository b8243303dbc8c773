"""``cupti-etl top``: what GPUs do now, read from a trace that grows, on a terminal."""
