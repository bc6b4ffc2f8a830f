"""SQLite: the connection behind `rows`, and the migrations that bring a file to the newest schema."""
