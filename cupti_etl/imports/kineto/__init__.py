"""Traces of PyTorch's profiler."""
