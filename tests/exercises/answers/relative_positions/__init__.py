"""Answers to the exercises of the chapter "Relative positions, and longer than you trained"."""
