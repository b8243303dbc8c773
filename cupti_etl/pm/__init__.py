"""PM sampling: what can be counted, under which names, and CUPTI's profiler host."""
