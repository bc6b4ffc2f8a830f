"""Runs: a claimed plan is executed step by step, by a plan file's steps or by a program's session.

Start with `plan_executor`; one step is in `execute_phase`, the process's hold on a plan in `run`, and the transaction
that changes it in `commit`.
"""
