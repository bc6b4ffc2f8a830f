"""The terminal: draws answers, live progress and watched plans."""
