"""Sandboxes: a plan's private working copies of real resources."""
