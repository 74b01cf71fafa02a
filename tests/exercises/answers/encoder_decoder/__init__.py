"""Answers to the exercises of the chapter "Encoder and decoder"."""
