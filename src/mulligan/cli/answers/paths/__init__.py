"""Answers about single paths of checkpoints, and about what is forgotten."""
