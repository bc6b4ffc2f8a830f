"""Built-in tools, and the launcher and worker processes they run in.

`toolbox` is the door. `launcher` and `worker` are programs of their own: they run in other processes, with
the standard library only, and are never imported by the rest.
"""
