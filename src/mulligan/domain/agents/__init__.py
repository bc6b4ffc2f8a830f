"""Coding agents: the events that their hooks report, and the answers that go back. Start with `agent_event.py`."""
