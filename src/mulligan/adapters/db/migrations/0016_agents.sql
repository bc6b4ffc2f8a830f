-- Sessions of coding agents, each with the plan that holds what was done in it.
CREATE TABLE agent_sessions (
    agent TEXT NOT NULL,
    session TEXT NOT NULL, -- the agent's own id
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    parent_session TEXT, -- the one that it was forked from
    entry BIGINT, -- the prompt that is being answered
    prompt TEXT, -- the agent's own id of that
    started_at TEXT NOT NULL,
    ended_at TEXT,
    PRIMARY KEY (agent, session)
);
CREATE INDEX agent_sessions_by_plan ON agent_sessions (plan_id);

-- The events that their hooks reported, in order over all of them, each with the group that holds the files of that moment.
CREATE TABLE agent_moments (
    number BIGINT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    kind TEXT NOT NULL,
    entry BIGINT,
    call_id TEXT,
    group_id TEXT NOT NULL, -- it may be pruned
    created_at TEXT NOT NULL
);
CREATE INDEX agent_moments_by_plan ON agent_moments (plan_id, number);

-- Asked for at every event.
CREATE INDEX entries_without_end ON entries (number) WHERE after_group IS NULL AND superseded = 0 AND undone = 0;
CREATE INDEX tool_calls_running ON tool_calls (plan_id, seq) WHERE status = 'running';
