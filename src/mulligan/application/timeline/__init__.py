"""The timeline of a folder: undo and redo over all plans, and what the log shows of it."""
