"""The API: projects, sessions and their answers, for front doors and for programs.

A front door parses, calls one operation of `project`, and renders the result. Nothing here prints.
"""
