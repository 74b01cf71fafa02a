"""Checkers of the chapter "Right shapes, wrong answers"."""
