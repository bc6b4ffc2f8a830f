"""Shared projects as a whole: their way into a file, and out of one."""
