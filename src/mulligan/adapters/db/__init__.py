"""Rows: plain SQL through the DB-API, in words that SQLite and PostgreSQL both understand."""
