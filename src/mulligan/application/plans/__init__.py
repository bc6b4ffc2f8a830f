"""Plans: created, claimed, resumed, edited and cancelled; the guards that refuse what a plan does not allow."""
