"""History: its lines, and what a rollback, an undo or a correction leaves behind on them."""
