"""Text: ids, names, plurals, JSON, and text from outside that is safe to print."""
