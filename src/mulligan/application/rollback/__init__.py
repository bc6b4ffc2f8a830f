"""Rollback: brings a plan back or forward to a group, and undoes effects of its tools outside of sandboxes."""
