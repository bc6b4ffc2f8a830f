-- Corrections: which decision was corrected, and the attempt that began with it.
CREATE TABLE corrections (
    correction_id TEXT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    mode TEXT NOT NULL,
    decision_id TEXT NOT NULL REFERENCES decisions (decision_id),
    intervention_id TEXT NOT NULL REFERENCES decisions (decision_id),
    guidance TEXT NOT NULL,
    chosen TEXT,
    redefines INTEGER NOT NULL, -- whether it changed what the plan is
    attempt INTEGER NOT NULL,
    superseded_decisions_json TEXT NOT NULL,
    cancelled_child_plans_json TEXT NOT NULL,
    restored_checkpoint TEXT NOT NULL, -- it may be pruned
    created_at TEXT NOT NULL
);
CREATE INDEX corrections_by_plan ON corrections (plan_id, attempt);

-- What the plan is once the intent is carried out, where that is something else.
ALTER TABLE intents ADD COLUMN definition_json TEXT;

-- What a plan was before a line of its history began, where it was something else: going forward to an older
-- line brings that back.
CREATE TABLE earlier_definitions (
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    before_line INTEGER NOT NULL,
    definition_json TEXT NOT NULL,
    PRIMARY KEY (plan_id, before_line)
);
