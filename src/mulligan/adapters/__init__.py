"""The outside world behind the ports: each room knows its own library and no other room."""
