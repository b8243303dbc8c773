"""How fast, how small, how soon: one module a benchmark, `python -m benchmarks NAME`."""
