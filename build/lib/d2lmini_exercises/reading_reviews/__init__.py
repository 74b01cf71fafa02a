"""Checkers of the chapter "Reading reviews"."""
