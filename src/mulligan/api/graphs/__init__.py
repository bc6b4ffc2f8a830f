"""Graphs that other programs run: their states in a project, and their files in a session, for savers of frameworks."""
