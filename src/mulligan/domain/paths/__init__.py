"""Paths: patterns that match them, and sets of them."""
