"""Plans and their parts: steps, decisions, tools, child plans, triggers, events and intents."""
