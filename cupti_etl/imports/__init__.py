"""Traces that others wrote, as rows of our tables."""
