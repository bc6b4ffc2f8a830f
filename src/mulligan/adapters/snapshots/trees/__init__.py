"""Stored trees: compared and edited without touching any file."""
