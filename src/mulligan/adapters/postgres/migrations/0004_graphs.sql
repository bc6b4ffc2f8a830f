-- Checkpoints of graphs that other programs run, each with the state as that program wrote it.
CREATE TABLE graph_states (
    thread TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL, -- of a graph within the graph; empty: the graph itself
    checkpoint_id TEXT COLLATE "C" NOT NULL, -- sorts in the order in which they were made
    parent_id TEXT COLLATE "C",
    run_id TEXT COLLATE "C",
    format TEXT COLLATE "C" NOT NULL,
    state BYTEA NOT NULL,
    check_sum BIGINT NOT NULL, -- CRC-32 of the state
    metadata_json TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (thread, namespace, checkpoint_id)
);
CREATE INDEX graph_states_by_id ON graph_states (checkpoint_id);
CREATE INDEX graph_states_by_run ON graph_states (run_id) WHERE run_id IS NOT NULL;

-- What tasks of a graph wrote after a checkpoint, before the next one.
CREATE TABLE graph_writes (
    thread TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    checkpoint_id TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL, -- shifted, so that it is never negative
    task_path TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    format TEXT COLLATE "C" NOT NULL,
    value BYTEA NOT NULL,
    check_sum BIGINT NOT NULL,
    PRIMARY KEY (thread, namespace, checkpoint_id, task_id, position)
);

-- The newest checkpoint of each graph whose files a plan holds, with the groups that hold them.
CREATE TABLE graph_positions (
    plan_id TEXT COLLATE "C" NOT NULL REFERENCES plans (plan_id),
    thread TEXT COLLATE "C" NOT NULL,
    checkpoint_id TEXT COLLATE "C" NOT NULL,
    group_id TEXT COLLATE "C" NOT NULL,
    earlier_group TEXT COLLATE "C", -- of the checkpoint before: the state may not have moved yet
    resting_group TEXT COLLATE "C", -- of what tasks did since, where the graph was at rest then
    inside BIGINT NOT NULL, -- 1: graphs within it have moved on since
    PRIMARY KEY (plan_id, thread)
);
