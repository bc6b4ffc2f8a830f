"""Answers: what a command's result looks like to people, as blocks that `terminal.render` draws."""
