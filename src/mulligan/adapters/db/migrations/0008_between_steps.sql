-- The newest checkpoint between two steps is asked for with every checkpoint; within a long step many are newer.
CREATE INDEX checkpoint_groups_between_steps ON checkpoint_groups (plan_id, superseded, seq) WHERE between_steps = 1;
