"""Formats: how trees, packs, chunks and stat signatures are laid out in bytes. No file is touched here."""
