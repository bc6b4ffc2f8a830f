"""The front door for clients of the local server: hooks of agents, and commands that ask about the server itself."""
