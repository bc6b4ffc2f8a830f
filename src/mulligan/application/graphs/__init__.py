"""Graphs that other programs run: their states, and the files that belong to each. Start with `graph_files.py`."""
