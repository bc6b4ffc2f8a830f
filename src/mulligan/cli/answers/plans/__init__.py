"""Answers about whole plans: one that is taken as it is, what its steps printed, those that wait for someone."""
