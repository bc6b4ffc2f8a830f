"""The protocol between the local server of a project and its clients: frames, and the words in them."""
