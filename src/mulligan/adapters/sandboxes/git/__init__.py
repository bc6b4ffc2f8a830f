"""Sandboxes of git checkouts: a working tree with a private git directory, and checkpoints that are commits."""
