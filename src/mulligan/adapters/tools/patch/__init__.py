"""The tool `apply_patch`: reads unified diffs and applies them, all or nothing."""
