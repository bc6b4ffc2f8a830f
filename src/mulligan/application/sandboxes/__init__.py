"""Sandboxes: made, replaced, repaired and removed; `doctor` looks the whole project over."""
