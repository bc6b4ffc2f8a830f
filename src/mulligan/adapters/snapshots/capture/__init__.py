"""Capture: a tree becomes objects. `tree_reader` chooses between the full and the incremental way."""
