"""Traces of Nsight Systems."""
