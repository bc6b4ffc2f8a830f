"""The command `worker`, and what it prints while it works."""
