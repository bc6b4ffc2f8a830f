"""Single paths: restored from checkpoints, and purged from all of them; and plans that are forgotten as a whole."""
