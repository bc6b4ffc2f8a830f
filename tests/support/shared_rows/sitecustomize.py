"""Lets every project of a test run have its rows in PostgreSQL, in this process and in all that it starts.

`MULLIGAN_ROWS_SERVER` is the address of the server. A project that says nothing of its database gets a schema of its
own, which is made when it is first opened. Python loads this file when it starts, as PYTHONPATH names its folder.
"""

import importlib.abc
import importlib.machinery
import os
import sys

_MODULE = "mulligan.wiring.database_place"


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, and changes two of its functions once it is loaded."""

    def find_spec(self, name, path, target=None):
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            _change(module)

        spec.loader.exec_module = exec_module
        return spec


def _change(module):
    in_file, open_shared = module.database_in, module.open_shared

    def database_in(folder, home, settings):
        if settings.database_url is not None or (home / "mulligan.db").exists():
            return in_file(folder, home, settings)
        from hashlib import blake2b

        from mulligan.adapters.postgres.server_address import ServerAddress

        own = "p_" + blake2b(str(home).encode(), digest_size=10).hexdigest()
        return ServerAddress.of(f"{os.environ['MULLIGAN_ROWS_SERVER']}&schema={own}&project={own}")

    def open_or_make(address, host=None):
        from mulligan.errors import DatabaseNotMade

        try:
            return open_shared(address, host)
        except DatabaseNotMade:
            module.make_shared(address, address.project)
            return open_shared(address, host)

    module.database_in, module.open_shared = database_in, open_or_make


if "MULLIGAN_ROWS_SERVER" in os.environ:
    sys.meta_path.insert(0, _Finder())
