"""The compiled library: found, checked and loaded."""
