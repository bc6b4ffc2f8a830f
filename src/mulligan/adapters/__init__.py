"""Adapters: the outside world behind the ports. Adapters do not know each other."""
