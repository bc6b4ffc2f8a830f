"""Checkpoints: the snapshots they hold, the groups they form, and which of them retention keeps."""
