-- Plans and all that happened to them. Times are ISO 8601 in UTC; flags are 0 or 1; documents are JSON text.

CREATE TABLE plans (
    plan_id TEXT PRIMARY KEY,
    ordinal BIGINT NOT NULL UNIQUE, -- order of creation; clocks lie
    parent_plan_id TEXT REFERENCES plans (plan_id),
    name TEXT NOT NULL,
    definition_json TEXT NOT NULL,
    phase TEXT NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    step_index INTEGER NOT NULL,
    steps_total INTEGER NOT NULL,
    progress_json TEXT NOT NULL,
    line INTEGER NOT NULL,
    current_group_id TEXT,
    last_checkpoint_id TEXT,
    failure_json TEXT,
    messages_json TEXT NOT NULL,
    fence BIGINT NOT NULL,
    seq BIGINT NOT NULL, -- the newest sequence number given out
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX plans_by_name ON plans (name);

CREATE TABLE steps (
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    step_index INTEGER NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    duration_ms BIGINT,
    PRIMARY KEY (plan_id, step_index)
);

CREATE TABLE lines (
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    line INTEGER NOT NULL,
    parent_line INTEGER,
    fork_seq BIGINT NOT NULL,
    PRIMARY KEY (plan_id, line)
);

CREATE TABLE tool_calls (
    call_id TEXT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    line INTEGER NOT NULL,
    done_seq BIGINT,
    step_index INTEGER NOT NULL,
    step_name TEXT NOT NULL,
    tool TEXT NOT NULL,
    resource TEXT NOT NULL,
    arguments_json TEXT NOT NULL,
    status TEXT NOT NULL,
    output_json TEXT NOT NULL,
    detail_json TEXT NOT NULL,
    error TEXT,
    superseded INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    duration_ms BIGINT
);
CREATE INDEX tool_calls_by_plan ON tool_calls (plan_id, seq);

CREATE TABLE decisions (
    decision_id TEXT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    line INTEGER NOT NULL,
    parent_decision_id TEXT REFERENCES decisions (decision_id),
    type TEXT NOT NULL,
    step_index INTEGER NOT NULL,
    step_name TEXT NOT NULL,
    question TEXT NOT NULL,
    chosen TEXT NOT NULL,
    alternatives_json TEXT NOT NULL,
    rationale TEXT,
    superseded INTEGER NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX decisions_by_plan ON decisions (plan_id, seq);

CREATE TABLE checkpoint_groups (
    group_id TEXT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    line INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    checkpoint_type TEXT NOT NULL,
    label TEXT,
    between_steps INTEGER NOT NULL,
    decision_id TEXT REFERENCES decisions (decision_id),
    parent_group_id TEXT,
    superseded INTEGER NOT NULL,
    step_index INTEGER NOT NULL,
    state_json TEXT NOT NULL,
    state_hash TEXT NOT NULL,
    metadata_json TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (plan_id, seq)
);
CREATE INDEX checkpoint_groups_by_parent ON checkpoint_groups (parent_group_id);

CREATE TABLE checkpoints (
    checkpoint_id TEXT PRIMARY KEY,
    group_id TEXT NOT NULL REFERENCES checkpoint_groups (group_id) ON DELETE CASCADE,
    position INTEGER NOT NULL, -- of the resource in the plan
    seq BIGINT NOT NULL,
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    decision_id TEXT REFERENCES decisions (decision_id),
    resource TEXT NOT NULL,
    checkpoint_type TEXT NOT NULL,
    label TEXT,
    step_index INTEGER NOT NULL,
    state_hash TEXT NOT NULL,
    sandbox_ref TEXT NOT NULL,
    snapshot TEXT NOT NULL, -- identity and address of each root in the snapshot store
    filesystem_path TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    modified INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    parent_group_id TEXT,
    superseded INTEGER NOT NULL,
    metadata_json TEXT NOT NULL
);
CREATE INDEX checkpoints_by_plan ON checkpoints (plan_id, seq, position);
CREATE INDEX checkpoints_by_group ON checkpoints (group_id);
CREATE INDEX checkpoints_by_parent ON checkpoints (parent_group_id);

-- Outputs too long to be repeated in the state of every group, by their hash.
CREATE TABLE outputs (
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    sha256 TEXT NOT NULL,
    value_json TEXT NOT NULL,
    PRIMARY KEY (plan_id, sha256)
);

CREATE TABLE intents (
    intent_id TEXT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    data_json TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX intents_by_plan ON intents (plan_id, seq);

CREATE TABLE events (
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    type TEXT NOT NULL,
    data_json TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (plan_id, seq)
);

CREATE TABLE sandboxes (
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    resource TEXT NOT NULL,
    position INTEGER NOT NULL,
    type TEXT NOT NULL,
    strategy TEXT NOT NULL,
    location TEXT NOT NULL,
    path TEXT NOT NULL,
    base TEXT NOT NULL,
    PRIMARY KEY (plan_id, resource)
);
