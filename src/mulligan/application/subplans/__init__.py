"""Child plans: run beside each other in forks of the sandboxes, and merged into their parent."""
