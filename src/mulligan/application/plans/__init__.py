"""Plans: created, claimed, resumed, edited and cancelled; the guards that refuse what a plan does not allow.

`plan_claims` takes lock and fence; `recovery` finishes or undoes what a process that died had begun.
"""
