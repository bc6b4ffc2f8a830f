"""Workers: processes that run Python functions, one call after the other."""
