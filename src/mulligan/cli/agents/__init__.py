"""What the hooks of coding agents call."""
