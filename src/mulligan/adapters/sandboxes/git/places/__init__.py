"""Paths in git directories of sandboxes: the second places of borrowed objects, and paths that follow a move."""
