"""Sandboxes of folders: a copy of the plan's own, or the real folder in place."""
