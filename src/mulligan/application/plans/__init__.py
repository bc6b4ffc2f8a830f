"""Plans: created, claimed, resumed, edited and cancelled; the guards that refuse what a plan does not allow.

`plan_claims` takes lock and fence; `recovery` finishes or undoes the work of a process that died.
"""
