"""Checkpoints of graphs that other programs run, and where a plan holds their files."""
