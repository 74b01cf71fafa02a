"""Checkers of the chapter "Self-attention"."""
