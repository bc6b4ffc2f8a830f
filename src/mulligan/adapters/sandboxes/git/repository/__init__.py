"""Git repositories: the user's own, the bare ones of checkpoints, and which objects one borrows from the other."""
