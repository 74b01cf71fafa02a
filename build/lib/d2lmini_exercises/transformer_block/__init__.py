"""Checkers of the chapter "The Transformer block"."""
