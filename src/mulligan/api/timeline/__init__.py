"""The timeline of a folder, in the hands of a caller."""
