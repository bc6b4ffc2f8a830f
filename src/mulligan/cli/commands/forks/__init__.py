"""Commands that let several plans start from one checkpoint: `plan fork`, and `try` with its variants."""
