"""The snapshot store: trees of files by content, in packs; a stat cache makes a capture cost what changed."""
