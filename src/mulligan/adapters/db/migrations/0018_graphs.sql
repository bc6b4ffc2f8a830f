-- Checkpoints of graphs that other programs run, each with the state as that program wrote it.
CREATE TABLE graph_states (
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL, -- of a graph within the graph; empty: the graph itself
    checkpoint_id TEXT NOT NULL, -- sorts in the order in which they were made
    parent_id TEXT,
    run_id TEXT,
    format TEXT NOT NULL,
    state BLOB NOT NULL,
    check_sum BIGINT NOT NULL, -- CRC-32 of the state
    metadata_json TEXT NOT NULL,
    PRIMARY KEY (thread, namespace, checkpoint_id)
);
CREATE INDEX graph_states_by_id ON graph_states (checkpoint_id);
CREATE INDEX graph_states_by_run ON graph_states (run_id) WHERE run_id IS NOT NULL;

-- What tasks of a graph wrote after a checkpoint, before the next one.
CREATE TABLE graph_writes (
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    position BIGINT NOT NULL, -- shifted, so that it is never negative
    task_path TEXT NOT NULL,
    channel TEXT NOT NULL,
    format TEXT NOT NULL,
    value BLOB NOT NULL,
    check_sum BIGINT NOT NULL,
    PRIMARY KEY (thread, namespace, checkpoint_id, task_id, position)
);

-- The newest checkpoint of each graph whose files a plan holds, with the groups that hold them.
CREATE TABLE graph_positions (
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    thread TEXT NOT NULL,
    checkpoint_id TEXT NOT NULL,
    group_id TEXT NOT NULL,
    earlier_group TEXT, -- of the checkpoint before: the state may not have moved yet
    resting_group TEXT, -- of what tasks did since, where the graph was at rest then
    inside BIGINT NOT NULL, -- 1: graphs within it have moved on since
    PRIMARY KEY (plan_id, thread)
);
