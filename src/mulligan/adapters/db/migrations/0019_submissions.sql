-- Plans that were handed to a queue, for a worker to run. Only a shared project has queues.

CREATE TABLE submissions (
    plan_id TEXT PRIMARY KEY REFERENCES plans (plan_id),
    queue TEXT NOT NULL,
    number INTEGER NOT NULL, -- of its newest entry in the queue: an entry of a lower number wakes nobody
    retries INTEGER NOT NULL, -- how often it may start again after a failed step
    taken INTEGER NOT NULL, -- from how many workers that died
    closed INTEGER NOT NULL, -- 1: no worker is to run it any more
    submitted_at TEXT NOT NULL
);
CREATE INDEX submissions_open ON submissions (queue) WHERE closed = 0;
