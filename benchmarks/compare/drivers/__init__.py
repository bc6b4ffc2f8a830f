"""Programs of their own in which contestants live while they are measured."""
