"""Commands: each parses its words, calls one operation of the API, and answers.

`declaration` has the decorator that every command uses.
"""
