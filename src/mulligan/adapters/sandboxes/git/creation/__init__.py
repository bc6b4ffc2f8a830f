"""Creation of a git sandbox: its private git directory, its pins and its first commit."""
