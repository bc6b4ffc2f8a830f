"""Scans: the names and stats of a tree as it is now, in C where the extension was built."""
