"""The local server of a project as the system sees it: its socket, its lock, and the record that leads to it."""
