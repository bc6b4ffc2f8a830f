"""The position of a checkout: HEAD, its branch and the index, captured, compared and moved."""
