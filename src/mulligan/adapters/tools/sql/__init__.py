"""The tool `sql`: statements on a database, in one transaction, in a process of its own."""
