"""Acts: the operations of the page that change something, with their previews, and acts at work."""
