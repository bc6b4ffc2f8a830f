"""Watches: inotify reports which names changed while a plan runs."""
