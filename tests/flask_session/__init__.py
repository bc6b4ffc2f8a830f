"""Thirty commands in a real project, the source of flask, typed into a terminal.

`commands.txt` is the script. `typist.py` types it, and compares or writes `docs/tutorial-flask.md`, which keeps the
screen.
"""
