"""Wiring: the only room where classes meet and the environment is read.

`services` builds the use cases over `adapters`, each when it is first needed.
"""
