"""Corrections: `revert` takes a decision back and runs on, `append` adds work to it."""
