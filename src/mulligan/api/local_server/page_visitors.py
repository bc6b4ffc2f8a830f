"""Visitors of the page, for front doors: whose process is at the other end."""

from mulligan.adapters.local_server.connection_owner import is_of_another_user

__all__ = ["is_of_another_user"]
