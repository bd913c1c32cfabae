"""Runs the parts together, as users do, and measures them from outside."""
