"""The local server of a project, and the watches that it keeps."""
