"""Apply to a user's checkout: which changes go into the commit, the index and the working tree."""
