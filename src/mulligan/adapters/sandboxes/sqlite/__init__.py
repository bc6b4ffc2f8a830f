"""Sandboxes of SQLite databases: copied and captured through SQLite, or worked on in place."""
