"""Checkers of the chapter "Attention pooling"."""
