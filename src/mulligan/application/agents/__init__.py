"""Coding agents: what happens in a project when a hook reports an event. Start with `agent_events.py`."""
