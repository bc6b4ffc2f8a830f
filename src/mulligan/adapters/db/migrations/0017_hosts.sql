-- The machines of a shared project. A project whose rows are in a file has none.
CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    home TEXT NOT NULL, -- the project home on it
    folder TEXT NOT NULL -- the project folder on it
);

-- The machine that has a sandbox, or works in place; NULL: the only one.
ALTER TABLE sandboxes ADD COLUMN host TEXT;
ALTER TABLE real_changes ADD COLUMN host TEXT;
ALTER TABLE intents ADD COLUMN host TEXT;

-- The machine that has the real thing, which copies are made of and applied to.
ALTER TABLE sandboxes ADD COLUMN real_host TEXT;
ALTER TABLE real_changes ADD COLUMN real_host TEXT;
