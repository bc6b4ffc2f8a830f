"""PostgreSQL: the connection behind `rows` of a project that many machines share, its migrations, and claims of plans.

Nothing else knows the driver, and an installation may be without it: `pip install 'mulligan[shared]'` brings it.
"""
