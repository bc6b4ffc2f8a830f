"""The command that serves the page in the browser."""
