"""Wiring: the only room where classes meet and the environment is read."""
