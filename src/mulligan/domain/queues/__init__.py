"""Queues of a shared project: what is in them, who looks at them."""
