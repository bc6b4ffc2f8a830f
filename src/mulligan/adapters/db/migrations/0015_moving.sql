-- Files that an apply left alone because others kept writing them, and that belong to the sandbox all the same.
ALTER TABLE real_changes ADD COLUMN moving_json TEXT NOT NULL DEFAULT '[]';

-- The plan's place in its history where an entry was undone alone: earlier groups hold its effect, later ones do not.
ALTER TABLE entries ADD COLUMN undone_seq BIGINT;
UPDATE entries SET undone_seq = (SELECT MAX(seq) FROM checkpoint_groups AS g WHERE g.plan_id = entries.plan_id)
WHERE undone = 1;
