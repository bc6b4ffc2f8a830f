"""Benchmarks: ASV suites that hold the figures, and the comparison with others."""
