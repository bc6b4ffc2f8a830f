"""Tests of the tools that agents get over the Model Context Protocol."""
