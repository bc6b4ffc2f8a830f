"""Use cases, one a module: they read ports and domain, never an adapter."""
