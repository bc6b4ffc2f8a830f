"""Rows: one module per group of tables, in SQL that SQLite and PostgreSQL both understand."""
