"""The commands of the group `plan`, by what they are for; `plan_group` names the module of each."""
