"""Tools of users: the decorator, `.mulligan/tools.py` and its trust, entry points of packages."""
