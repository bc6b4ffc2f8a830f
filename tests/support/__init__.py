"""What tests share: worlds to test in, pictures of folders and databases, and programs to drive."""
