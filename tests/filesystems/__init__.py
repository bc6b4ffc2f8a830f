"""Tests on filesystems that the default run does not have: see `nox -s filesystems`."""
