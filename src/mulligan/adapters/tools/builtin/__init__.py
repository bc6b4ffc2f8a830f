"""Built-in tools: `shell`, `python` and those for single files, with what they share."""
