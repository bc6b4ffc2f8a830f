"""Branches of git repositories on servers: a clone for each in the project home, copies of it, and pushes from it."""
