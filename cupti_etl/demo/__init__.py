"""A small CUDA program of our own, and a recording of a large one, to see a first trace with."""
