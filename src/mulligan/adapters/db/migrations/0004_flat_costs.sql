-- What a step costs must not follow how long its plan is, nor a checkpoint how many are kept.

-- The definition of a plan lies apart from where it stands, which every step rewrites.
CREATE TABLE definitions (
    plan_id TEXT PRIMARY KEY REFERENCES plans (plan_id),
    definition_json TEXT NOT NULL
);
INSERT INTO definitions (plan_id, definition_json) SELECT plan_id, definition_json FROM plans;
ALTER TABLE plans DROP COLUMN definition_json;

-- What retention lets go first, in its order, and the last of each attempt.
CREATE INDEX checkpoint_groups_unlabelled ON checkpoint_groups (plan_id, superseded, seq) WHERE label IS NULL;
CREATE INDEX checkpoint_groups_labelled ON checkpoint_groups (plan_id, superseded, seq) WHERE label IS NOT NULL;
CREATE INDEX checkpoint_groups_by_attempt ON checkpoint_groups (plan_id, attempt, seq);
