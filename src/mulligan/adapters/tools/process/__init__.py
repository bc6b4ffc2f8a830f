"""Processes of tools as the runner sees them: started, confined, followed, ended."""
