"""Runs plans beside each other."""
