-- The timeline of the project folder: what was done there, in order, over all plans.
CREATE TABLE entries (
    number BIGINT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES plans (plan_id) ON DELETE CASCADE,
    kind TEXT NOT NULL, -- run, step, apply, unapply
    title TEXT NOT NULL,
    step_index INTEGER,
    line INTEGER NOT NULL,
    seq BIGINT NOT NULL,
    status TEXT NOT NULL,
    created_at TEXT NOT NULL,
    superseded INTEGER NOT NULL, -- by a return of its plan
    undone INTEGER NOT NULL, -- alone, without a return of its plan
    redo BIGINT, -- the order in which it was undone, while it can be redone
    before_group TEXT, -- this and the next three may be pruned
    after_group TEXT,
    undone_from TEXT,
    undone_to TEXT,
    changed INTEGER,
    files BIGINT,
    detail_json TEXT NOT NULL
);
CREATE INDEX entries_by_plan ON entries (plan_id, number);
CREATE INDEX entries_to_redo ON entries (redo) WHERE redo IS NOT NULL;
CREATE INDEX entries_that_count ON entries (number) WHERE superseded = 0 AND undone = 0;

-- What earlier versions did and still counts: completed steps with their groups, and applies.
INSERT INTO entries (
    number, plan_id, kind, title, step_index, line, seq, status, created_at, superseded, undone,
    before_group, after_group, detail_json
)
SELECT
    ROW_NUMBER() OVER (ORDER BY done_at, ordinal, at_step), plan_id, kind, title, step_index, line, seq, 'done',
    done_at, 0, 0, before_group, after_group, '{}'
FROM (
    SELECT
        p.ordinal, p.plan_id, 'step' AS kind, s.name AS title, s.step_index, s.step_index AS at_step, a.line,
        COALESCE(b.seq + 1, a.seq) AS seq, a.created_at AS done_at, b.group_id AS before_group,
        a.group_id AS after_group
    FROM steps AS s
    JOIN plans AS p ON p.plan_id = s.plan_id AND p.parent_plan_id IS NULL
    JOIN checkpoint_groups AS a ON a.plan_id = s.plan_id AND a.seq = (
        SELECT MIN(seq) FROM checkpoint_groups
        WHERE plan_id = s.plan_id AND superseded = 0 AND step_index = s.step_index + 1
    )
    LEFT JOIN checkpoint_groups AS b ON b.plan_id = s.plan_id AND b.seq = (
        SELECT MAX(seq) FROM checkpoint_groups
        WHERE plan_id = s.plan_id AND superseded = 0 AND between_steps = 1 AND step_index = s.step_index AND seq < a.seq
    )
    WHERE s.status = 'done'
    UNION ALL
    SELECT
        p.ordinal, p.plan_id, 'apply', p.name, NULL, p.steps_total, p.line, p.seq, p.updated_at, NULL, NULL
    FROM plans AS p
    WHERE p.phase = 'apply' AND p.state = 'applied' AND p.parent_plan_id IS NULL
        AND EXISTS (SELECT 1 FROM real_changes WHERE real_changes.plan_id = p.plan_id AND act = 'apply')
);
