"""Sandboxes: made, replaced, repaired and removed; `doctor` checks the whole project."""
