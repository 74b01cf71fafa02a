"""Checkers of the chapter "Positional encoding: where am I?"."""
