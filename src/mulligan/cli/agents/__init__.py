"""Commands for coding agents: the one that their hooks call, and those that install the hooks."""
