"""The command line: a command parses, calls one operation, renders its answer."""
