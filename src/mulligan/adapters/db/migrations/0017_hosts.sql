-- The machines of a shared project. A project whose rows are in a file has none.
CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    home TEXT NOT NULL -- the project home on it
);

-- The machine that has a sandbox, or the real thing; NULL: the only one.
ALTER TABLE sandboxes ADD COLUMN host TEXT;
ALTER TABLE real_changes ADD COLUMN host TEXT;
