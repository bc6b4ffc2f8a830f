"""The launcher: programs that run tools in a process tree of their own.

The modules are loaded by path, without their package, and import next to nothing: a step waits for them.
"""
