"""Forks: plans that start from a checkpoint group of another plan, and the variants of a try."""
