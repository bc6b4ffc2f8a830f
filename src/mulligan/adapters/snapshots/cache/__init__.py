"""The stat cache: what is known of each tree, so that the next process reads only what changed."""
