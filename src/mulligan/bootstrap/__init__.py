"""The composition root: the only room where classes meet and the surroundings are read."""
