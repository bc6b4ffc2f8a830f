-- The schema of SQLite's version 16, and what a database has that many machines share. Text sorts by its bytes, whatever
-- the collation of the database is: ids, names and times sort as in SQLite.

CREATE TABLE schema_version (
    version INTEGER NOT NULL
);

CREATE TABLE plans (
    plan_id TEXT COLLATE "C" PRIMARY KEY,
    ordinal BIGINT NOT NULL UNIQUE, -- order of creation; clocks lie
    parent_plan_id TEXT COLLATE "C" REFERENCES plans (plan_id),
    name TEXT COLLATE "C" NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    attempt INTEGER NOT NULL,
    step_index INTEGER NOT NULL,
    steps_total INTEGER NOT NULL,
    progress_json TEXT COLLATE "C" NOT NULL,
    line INTEGER NOT NULL,
    current_group_id TEXT COLLATE "C",
    last_checkpoint_id TEXT COLLATE "C",
    failure_json TEXT COLLATE "C",
    messages_json TEXT COLLATE "C" NOT NULL,
    fence BIGINT NOT NULL,
    seq BIGINT NOT NULL, -- the newest sequence number given out
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    conflicts_json TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    handle TEXT COLLATE "C" NOT NULL DEFAULT '',
    groups BIGINT NOT NULL DEFAULT 0,
    hidden_json TEXT COLLATE "C" NOT NULL DEFAULT '[]'
);
CREATE INDEX plans_by_name ON plans (name);
CREATE UNIQUE INDEX plans_by_handle ON plans (handle) WHERE handle <> '';

CREATE TABLE steps (
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    step_index INTEGER NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    duration_ms BIGINT,
    PRIMARY KEY (plan_id, step_index)
);

CREATE TABLE lines (
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    line INTEGER NOT NULL,
    parent_line INTEGER,
    fork_seq BIGINT NOT NULL,
    PRIMARY KEY (plan_id, line)
);

CREATE TABLE tool_calls (
    call_id TEXT COLLATE "C" PRIMARY KEY,
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    line INTEGER NOT NULL,
    done_seq BIGINT,
    step_index INTEGER NOT NULL,
    step_name TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    resource TEXT COLLATE "C" NOT NULL,
    arguments_json TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    output_json TEXT COLLATE "C" NOT NULL,
    detail_json TEXT COLLATE "C" NOT NULL,
    error TEXT COLLATE "C",
    superseded INTEGER NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    duration_ms BIGINT,
    undo TEXT COLLATE "C" NOT NULL DEFAULT 'not_needed'
);
CREATE INDEX tool_calls_by_plan ON tool_calls (plan_id, seq);
CREATE INDEX tool_calls_running ON tool_calls (plan_id, seq) WHERE status = 'running';

CREATE TABLE decisions (
    decision_id TEXT COLLATE "C" PRIMARY KEY,
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    line INTEGER NOT NULL,
    parent_decision_id TEXT COLLATE "C" REFERENCES decisions (decision_id),
    type TEXT COLLATE "C" NOT NULL,
    step_index INTEGER NOT NULL,
    step_name TEXT COLLATE "C" NOT NULL,
    question TEXT COLLATE "C" NOT NULL,
    chosen TEXT COLLATE "C" NOT NULL,
    alternatives_json TEXT COLLATE "C" NOT NULL,
    rationale TEXT COLLATE "C",
    superseded INTEGER NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL
);
CREATE INDEX decisions_by_plan ON decisions (plan_id, seq);

CREATE TABLE checkpoint_groups (
    group_id TEXT COLLATE "C" PRIMARY KEY,
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    line INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    checkpoint_type TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C",
    between_steps INTEGER NOT NULL,
    decision_id TEXT COLLATE "C" REFERENCES decisions (decision_id),
    parent_group_id TEXT COLLATE "C",
    superseded INTEGER NOT NULL,
    step_index INTEGER NOT NULL,
    state_json TEXT COLLATE "C" NOT NULL,
    state_hash TEXT COLLATE "C" NOT NULL,
    metadata_json TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL DEFAULT 0,
    UNIQUE (plan_id, seq)
);
CREATE INDEX checkpoint_groups_by_parent ON checkpoint_groups (parent_group_id);
CREATE INDEX checkpoint_groups_unlabelled ON checkpoint_groups (plan_id, superseded, seq) WHERE label IS NULL;
CREATE INDEX checkpoint_groups_labelled ON checkpoint_groups (plan_id, superseded, seq) WHERE label IS NOT NULL;
CREATE INDEX checkpoint_groups_by_attempt ON checkpoint_groups (plan_id, attempt, seq);
CREATE INDEX checkpoint_groups_between_steps ON checkpoint_groups (plan_id, superseded, seq) WHERE between_steps = 1;
CREATE UNIQUE INDEX checkpoint_groups_by_number ON checkpoint_groups (plan_id, number);

CREATE TABLE checkpoints (
    checkpoint_id TEXT COLLATE "C" PRIMARY KEY,
    group_id TEXT COLLATE "C" NOT NULL REFERENCES checkpoint_groups (group_id) ON DELETE CASCADE,
    position INTEGER NOT NULL, -- of the resource in the plan
    seq BIGINT NOT NULL,
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    decision_id TEXT COLLATE "C" REFERENCES decisions (decision_id),
    resource TEXT COLLATE "C" NOT NULL,
    checkpoint_type TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C",
    step_index INTEGER NOT NULL,
    state_hash TEXT COLLATE "C" NOT NULL,
    sandbox_ref TEXT COLLATE "C" NOT NULL,
    snapshot TEXT COLLATE "C" NOT NULL, -- identity and address of each root in the snapshot store
    filesystem_path TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    modified INTEGER NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    parent_group_id TEXT COLLATE "C",
    superseded INTEGER NOT NULL,
    metadata_json TEXT COLLATE "C" NOT NULL
);
CREATE INDEX checkpoints_by_plan ON checkpoints (plan_id, seq, position);
CREATE INDEX checkpoints_by_group ON checkpoints (group_id);
CREATE INDEX checkpoints_by_parent ON checkpoints (parent_group_id);

CREATE TABLE outputs (
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    sha256 TEXT COLLATE "C" NOT NULL,
    value_json TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (plan_id, sha256)
);

CREATE TABLE intents (
    intent_id TEXT COLLATE "C" PRIMARY KEY,
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    data_json TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    definition_json TEXT COLLATE "C"
);
CREATE INDEX intents_by_plan ON intents (plan_id, seq);

CREATE TABLE events (
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    seq BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    data_json TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (plan_id, seq)
);

CREATE TABLE sandboxes (
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    resource TEXT COLLATE "C" NOT NULL,
    position INTEGER NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    strategy TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    base TEXT COLLATE "C" NOT NULL,
    excluded_json TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    branch TEXT COLLATE "C",
    git_dir TEXT COLLATE "C",
    patterns_json TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    PRIMARY KEY (plan_id, resource)
);

CREATE TABLE definitions (
    plan_id TEXT COLLATE "C" PRIMARY KEY REFERENCES plans (plan_id),
    definition_json TEXT COLLATE "C" NOT NULL
);

CREATE TABLE corrections (
    correction_id TEXT COLLATE "C" PRIMARY KEY,
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    mode TEXT COLLATE "C" NOT NULL,
    decision_id TEXT COLLATE "C" NOT NULL REFERENCES decisions (decision_id),
    intervention_id TEXT COLLATE "C" NOT NULL REFERENCES decisions (decision_id),
    guidance TEXT COLLATE "C" NOT NULL,
    chosen TEXT COLLATE "C",
    redefines INTEGER NOT NULL, -- whether it changed what the plan is
    attempt INTEGER NOT NULL,
    superseded_decisions_json TEXT COLLATE "C" NOT NULL,
    cancelled_child_plans_json TEXT COLLATE "C" NOT NULL,
    restored_checkpoint TEXT COLLATE "C" NOT NULL, -- it may be pruned
    created_at TEXT COLLATE "C" NOT NULL
);
CREATE INDEX corrections_by_plan ON corrections (plan_id, attempt);

CREATE TABLE earlier_definitions (
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    before_line INTEGER NOT NULL,
    definition_json TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (plan_id, before_line)
);

CREATE TABLE real_changes (
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    act TEXT COLLATE "C" NOT NULL, -- apply or unapply
    resource TEXT COLLATE "C" NOT NULL,
    position INTEGER NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    strategy TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    base TEXT COLLATE "C" NOT NULL,
    excluded_json TEXT COLLATE "C" NOT NULL,
    branch TEXT COLLATE "C",
    git_dir TEXT COLLATE "C",
    before_snapshot TEXT COLLATE "C" NOT NULL,
    written_snapshot TEXT COLLATE "C" NOT NULL,
    group_id TEXT COLLATE "C",
    commit_id TEXT COLLATE "C",
    patterns_json TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    theirs_snapshot TEXT COLLATE "C",
    moving_json TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    PRIMARY KEY (plan_id, act, resource)
);

CREATE TABLE spawns (
    plan_id TEXT COLLATE "C" PRIMARY KEY REFERENCES plans (plan_id),
    parent_plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    step_index INTEGER NOT NULL,
    number INTEGER NOT NULL,
    position INTEGER NOT NULL,
    line INTEGER NOT NULL,
    seq BIGINT NOT NULL,
    bases_json TEXT COLLATE "C"
);
CREATE INDEX spawns_by_parent ON spawns (parent_plan_id, step_index, number, position);

CREATE TABLE entries (
    number BIGINT PRIMARY KEY,
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL, -- run, step, apply, unapply
    title TEXT COLLATE "C" NOT NULL,
    step_index INTEGER,
    line INTEGER NOT NULL,
    seq BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    superseded INTEGER NOT NULL, -- by a return of its plan
    undone INTEGER NOT NULL, -- alone, without a return of its plan
    redo BIGINT, -- the order in which it was undone, while it can be redone
    before_group TEXT COLLATE "C", -- this and the next three may be pruned
    after_group TEXT COLLATE "C",
    undone_from TEXT COLLATE "C",
    undone_to TEXT COLLATE "C",
    changed INTEGER,
    files BIGINT,
    detail_json TEXT COLLATE "C" NOT NULL,
    undone_seq BIGINT
);
CREATE INDEX entries_by_plan ON entries (plan_id, number);
CREATE INDEX entries_to_redo ON entries (redo) WHERE redo IS NOT NULL;
CREATE INDEX entries_that_count ON entries (number) WHERE superseded = 0 AND undone = 0;
CREATE INDEX entries_without_end ON entries (number) WHERE after_group IS NULL AND superseded = 0 AND undone = 0;

CREATE TABLE counters (
    name TEXT COLLATE "C" PRIMARY KEY,
    used BIGINT NOT NULL -- the last number that was given
);

CREATE TABLE agent_sessions (
    agent TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL, -- the agent's own id
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    parent_session TEXT COLLATE "C", -- the one that it was forked from
    entry BIGINT, -- the prompt that is being answered
    prompt TEXT COLLATE "C", -- the agent's own id of that
    started_at TEXT COLLATE "C" NOT NULL,
    ended_at TEXT COLLATE "C",
    PRIMARY KEY (agent, session)
);
CREATE INDEX agent_sessions_by_plan ON agent_sessions (plan_id);

CREATE TABLE agent_moments (
    number BIGINT PRIMARY KEY,
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    kind TEXT COLLATE "C" NOT NULL,
    entry BIGINT,
    call_id TEXT COLLATE "C",
    group_id TEXT COLLATE "C" NOT NULL, -- it may be pruned
    created_at TEXT COLLATE "C" NOT NULL
);
CREATE INDEX agent_moments_by_plan ON agent_moments (plan_id, number);
INSERT INTO counters (name, used) VALUES ('entries', 0);

-- The one project that these tables belong to, by an id that no other has: a home remembers it.
CREATE TABLE deployment (
    id TEXT COLLATE "C" NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- The number of transactions that wrote: others see by it that there is something new.
CREATE TABLE commits (
    number BIGINT NOT NULL
);
INSERT INTO commits (number) VALUES (0);

-- Every plan that was ever worked on, with its present or last holder. The right to work on it is a lock of the server.
CREATE TABLE claims (
    plan_id TEXT COLLATE "C" PRIMARY KEY,
    token TEXT COLLATE "C" NOT NULL, -- of the present claim, drawn at random
    session BIGINT NOT NULL, -- the process of the server that has the lock
    host TEXT COLLATE "C" NOT NULL,
    machine TEXT COLLATE "C" NOT NULL, -- where the next number is that of a process
    pid BIGINT NOT NULL,
    since TEXT COLLATE "C" NOT NULL,
    within_json TEXT COLLATE "C" NOT NULL, -- the plans that this work is part of
    asked INTEGER NOT NULL, -- to stop
    retired INTEGER NOT NULL -- about to be forgotten
);
