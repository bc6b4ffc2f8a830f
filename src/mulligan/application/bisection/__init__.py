"""Finds the checkpoint group at which a command begins to fail, in scratch copies that belong to no plan."""
