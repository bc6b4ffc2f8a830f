-- What the sandbox held when the plan was applied: an unapply makes it again where the apply removed it.
ALTER TABLE real_changes ADD COLUMN theirs_snapshot TEXT;
