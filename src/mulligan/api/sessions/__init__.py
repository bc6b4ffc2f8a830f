"""Sessions: plans whose steps are a program's own code, their resources, and the check of what they are given."""
