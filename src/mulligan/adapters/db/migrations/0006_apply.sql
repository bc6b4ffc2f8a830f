-- What applying a plan did, or is about to do, to its real resources: all that taking it back needs.
CREATE TABLE real_changes (
    plan_id TEXT NOT NULL REFERENCES plans (plan_id),
    act TEXT NOT NULL, -- apply or unapply
    resource TEXT NOT NULL,
    position INTEGER NOT NULL,
    type TEXT NOT NULL,
    strategy TEXT NOT NULL,
    location TEXT NOT NULL,
    path TEXT NOT NULL,
    base TEXT NOT NULL,
    excluded_json TEXT NOT NULL,
    branch TEXT,
    git_dir TEXT,
    before_snapshot TEXT NOT NULL,
    written_snapshot TEXT NOT NULL,
    group_id TEXT,
    commit_id TEXT,
    PRIMARY KEY (plan_id, act, resource)
);

-- What keeps a constrained plan from going on.
ALTER TABLE plans ADD COLUMN conflicts_json TEXT NOT NULL DEFAULT '[]';
