def slug(title):
    """A title as part of an address."""
    return "-".join(title.lower().split())
