"""What a row is: the one description of every table, and what follows from it."""
