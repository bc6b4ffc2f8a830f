"""Checkpoints: taken by triggers and by hand, pruned, and their bytes freed.

`checkpoint_service` takes them, `checkpoint_manager` talks to the sandboxes, `project_sweep` frees bytes.
"""
