"""Configuration files of coding agents, and the record of what mulligan wrote into them."""
