"""Checkers of the chapter "Relative positions, and longer than you trained"."""
