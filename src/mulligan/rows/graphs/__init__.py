"""Rows of graphs that other programs run: their states, what their tasks wrote, and where a plan holds their files."""
