"""Queues of a shared project: what `Project` offers, and a worker as a process."""
