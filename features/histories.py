"""Checkpoints as lists of groups."""

from typing import Any


def one_each(checkpoints: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the first checkpoint of each group, oldest first."""
    return list({c["group_id"]: c for c in reversed(checkpoints)}.values())[::-1]


def told(checkpoint: dict[str, Any]) -> str:
    """Name a group by its type; one that is superseded in brackets."""
    word: str = checkpoint["checkpoint_type"]
    return f"({word})" if checkpoint["superseded"] else word
