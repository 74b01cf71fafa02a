"""Answers to the exercises of the chapter "Positional encoding: where am I?"."""
