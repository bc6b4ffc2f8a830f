-- What a sandbox leaves to other resources of the plan, and the git side of a git checkout's.
ALTER TABLE sandboxes ADD COLUMN excluded_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sandboxes ADD COLUMN branch TEXT;
ALTER TABLE sandboxes ADD COLUMN git_dir TEXT;
