"""Workers of a shared project, put together."""
