"""Numbers of things in words."""


def counted(count: int, one: str, many: str | None = None) -> str:
    """Say how many there are: `1 path`, `2 paths`; `many` where the word does not just get an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
