-- How a tool call is taken back, beyond restoring the sandboxes, and how far that got.
ALTER TABLE tool_calls ADD COLUMN undo TEXT NOT NULL DEFAULT 'not_needed';
