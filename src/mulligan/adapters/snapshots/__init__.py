"""The snapshot store: trees of files by content, in packs, with a stat cache that makes a capture cost what changed."""
