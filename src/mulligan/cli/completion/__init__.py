"""Completion of words in the shell."""
