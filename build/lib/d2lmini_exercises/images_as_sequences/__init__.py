"""Checkers of the chapter "Images as sequences"."""
