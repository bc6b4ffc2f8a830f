"""Rollback: brings a plan back or forward to a group, with the effects of its tools outside of sandboxes."""
