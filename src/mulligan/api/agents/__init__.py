"""Coding agents: what their hooks report, and the installation of these hooks."""
