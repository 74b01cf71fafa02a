"""Checkers of the chapter "What heads learn, and which matter"."""
