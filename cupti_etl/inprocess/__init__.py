"""Inside a Python program: what is captured, and what its parts are called."""
