"""Tests of what coding agents report, through the program as their hooks call it."""
