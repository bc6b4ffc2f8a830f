-- Plans that were handed to a queue, and the workers that run them.

CREATE TABLE submissions (
    plan_id TEXT COLLATE "C" PRIMARY KEY REFERENCES plans (plan_id),
    queue TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL, -- of its newest entry in the queue: an entry of a lower number wakes nobody
    retries INTEGER NOT NULL, -- how often it may start again after a failed step
    taken INTEGER NOT NULL, -- from how many workers that died
    closed INTEGER NOT NULL, -- 1: no worker is to run it any more
    submitted_at TEXT COLLATE "C" NOT NULL
);
CREATE INDEX submissions_open ON submissions (queue) WHERE closed = 0;

-- Workers that have started; one is alive while it holds its lock.
CREATE TABLE workers (
    worker TEXT COLLATE "C" PRIMARY KEY,
    host TEXT COLLATE "C" NOT NULL,
    pid BIGINT NOT NULL,
    queues_json TEXT COLLATE "C" NOT NULL,
    slots INTEGER NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    stopping INTEGER NOT NULL
);

CREATE TABLE queues (
    queue TEXT COLLATE "C" PRIMARY KEY,
    slots INTEGER NOT NULL, -- plans that each of its workers runs at once
    plans INTEGER -- that all of them together run at once; NULL: as many as they have slots
);

-- An entry in the durable queue, in the transaction that asks. Before the first worker has made the queue's own tables
-- there is none: workers enter what they find in `submissions`.
CREATE FUNCTION wake(queue TEXT, entry TEXT, plan TEXT, number BIGINT) RETURNS VOID LANGUAGE plpgsql AS $wake$
DECLARE
    place TEXT := quote_ident(current_schema() || '_queue') || '.enqueue_workflow';
BEGIN
    IF to_regproc(place) IS NOT NULL THEN
        EXECUTE 'SELECT ' || place || '(workflow_name => ''run_plan'', queue_name => $1, workflow_id => $2, '
            || 'positional_args => ARRAY[to_json($3), to_json($4)]::json[], application_name => ''mulligan'')'
            USING queue, entry, plan, number;
    END IF;
END
$wake$;
