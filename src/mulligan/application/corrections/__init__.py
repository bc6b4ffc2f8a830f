"""Corrections: `revert` takes a decision back and continues, `append` adds work to it."""
