"""Tries: what `Project` offers on them, and how users name their variants."""
