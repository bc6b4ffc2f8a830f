"""Queries for front doors, each read in one consistent view. Nothing here writes."""
