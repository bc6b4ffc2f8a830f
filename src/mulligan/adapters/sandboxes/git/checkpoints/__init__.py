"""Checkpoints as commits: made, named, and rebuilt from the store where they were lost."""
