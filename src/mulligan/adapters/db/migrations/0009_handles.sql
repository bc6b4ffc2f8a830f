-- Short names: the handle of a plan, which `migration.py` makes of the names of plans that have none yet, and the numbers
-- of the checkpoint groups in a plan.
ALTER TABLE plans ADD COLUMN handle TEXT NOT NULL DEFAULT '';
ALTER TABLE plans ADD COLUMN groups BIGINT NOT NULL DEFAULT 0; -- the newest number given out
ALTER TABLE checkpoint_groups ADD COLUMN number BIGINT NOT NULL DEFAULT 0;

UPDATE checkpoint_groups SET number = numbered.number
FROM (
    SELECT group_id, ROW_NUMBER() OVER (PARTITION BY plan_id ORDER BY seq) AS number FROM checkpoint_groups
) AS numbered
WHERE numbered.group_id = checkpoint_groups.group_id;
UPDATE plans SET groups = (SELECT COUNT(*) FROM checkpoint_groups WHERE checkpoint_groups.plan_id = plans.plan_id);

CREATE UNIQUE INDEX plans_by_handle ON plans (handle) WHERE handle <> '';
CREATE UNIQUE INDEX checkpoint_groups_by_number ON checkpoint_groups (plan_id, number);
