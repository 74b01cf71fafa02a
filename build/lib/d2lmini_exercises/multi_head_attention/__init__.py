"""Checkers of the chapter "Multi-head attention"."""
