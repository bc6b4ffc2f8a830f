"""Rows: plans, checkpoints and their history in SQL that every database understands.

`database` opens transactions, and a transaction has one repository for each kind of row (`tables/`). Below them is one
seam, `SqlConnection`: a second database is a second implementation of it. `adapters/db` has that for SQLite.
"""
