"""Runs: a claimed plan is executed step by step, from a plan file or by the program of a session.

Start with `plan_executor`; one step is in `execute_phase`, a claimed plan in `run`, and the transaction that changes
it in `commit`.
"""
