"""Answers to the exercises of the chapter "The Transformer block"."""
