"""Trees that are new: written in place, since nobody has seen them, and copied from a known tree where there is one."""
