-- The patterns that held when a plan began: paths that its sandboxes leave out of checkpoints, and paths that
-- checkpoints hold but that are neither applied nor shown.
ALTER TABLE sandboxes ADD COLUMN patterns_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE real_changes ADD COLUMN patterns_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE plans ADD COLUMN hidden_json TEXT NOT NULL DEFAULT '[]';
