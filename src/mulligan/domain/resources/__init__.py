"""Resources: the real things a plan works on, where they may be, and what tools may write."""
