"""Tables: one module for each group of tables, with its statements and the repositories that run them."""
