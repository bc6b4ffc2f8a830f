"""Benchmarks: ASV suites that hold the figures."""
