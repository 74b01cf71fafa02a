"""Teach: the student edition, marks for what came back, and slides."""
