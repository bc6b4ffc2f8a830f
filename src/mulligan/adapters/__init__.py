"""Adapters: what implements the ports; each knows its own library and no other adapter."""
