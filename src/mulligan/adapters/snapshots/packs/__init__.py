"""Packs: objects by their hash in immutable files; written, locked, repacked, swept and verified."""
