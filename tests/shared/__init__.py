"""Projects whose rows are in PostgreSQL, through the program; `nox -s shared` runs more of it than the default run."""
