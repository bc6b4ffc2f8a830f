-- Where child plans come from, and what their sandboxes are to be forked from until they are.
CREATE TABLE spawns (
    plan_id TEXT PRIMARY KEY REFERENCES plans (plan_id),
    parent_plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    step_index INTEGER NOT NULL,
    number INTEGER NOT NULL,
    position INTEGER NOT NULL,
    line INTEGER NOT NULL,
    seq BIGINT NOT NULL,
    bases_json TEXT
);
CREATE INDEX spawns_by_parent ON spawns (parent_plan_id, step_index, number, position);
