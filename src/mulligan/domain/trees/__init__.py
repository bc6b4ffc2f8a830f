"""Trees and texts: how two versions differ, and how three are merged. Pure rules; the store reads the bytes."""
