"""The side-by-side comparison: mulligan beside what else keeps checkpoints of a tree, in one session on one disk.

python -m benchmarks.compare --sizes 1000,10000,100000 --json build/compare.json
"""
