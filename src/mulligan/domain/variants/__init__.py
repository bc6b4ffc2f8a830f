"""Variants: several ways to do the same, tried beside each other from one point; one of them is picked."""
