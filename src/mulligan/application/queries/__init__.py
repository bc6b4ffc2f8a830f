"""Queries: what front doors show, each read in one consistent view. Nothing here writes."""
