-- The machines of a shared project. A project whose rows are in a file has none.
CREATE TABLE hosts (
    host TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    home TEXT COLLATE "C" NOT NULL, -- the project home on it
    folder TEXT COLLATE "C" NOT NULL -- the project folder on it
);

-- The machine that has a sandbox, or works in place; NULL: the only one.
ALTER TABLE sandboxes ADD COLUMN host TEXT COLLATE "C";
ALTER TABLE real_changes ADD COLUMN host TEXT COLLATE "C";
ALTER TABLE intents ADD COLUMN host TEXT COLLATE "C";

-- The machine that has the real thing, which copies are made of and applied to.
ALTER TABLE sandboxes ADD COLUMN real_host TEXT COLLATE "C";
ALTER TABLE real_changes ADD COLUMN real_host TEXT COLLATE "C";
