"""What writes generated files and reference pages; it is not installed."""
