-- Packs in an object store: which there are, and which are about to go.

CREATE TABLE store (
    removals BIGINT NOT NULL -- how often packs were removed
);
INSERT INTO store (removals) VALUES (0);

CREATE TABLE packs (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order of commits: one transaction writes at a time
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    size_bytes BIGINT NOT NULL,
    doomed_at TIMESTAMPTZ, -- by the server's clock; from then on nothing new relies on it
    confirmed_at TIMESTAMPTZ -- it was unneeded still when all that had begun before it was doomed had ended
);
CREATE INDEX packs_doomed ON packs (doomed_at) WHERE doomed_at IS NOT NULL;

-- Names that never become packs again: what was removed lately, and objects that had no row.
CREATE TABLE removed_packs (
    name TEXT COLLATE "C" PRIMARY KEY,
    removal BIGINT NOT NULL,
    had_row BOOLEAN NOT NULL,
    moved_to TEXT COLLATE "C" -- the pack that holds all that it held
);
CREATE INDEX removed_packs_by_removal ON removed_packs (removal);
