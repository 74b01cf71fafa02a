"""Checkers of the chapter "Encoder and decoder"."""
