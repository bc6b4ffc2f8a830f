"""Tools of users: the decorator, `tools.py` and its trust, entry points of packages."""
