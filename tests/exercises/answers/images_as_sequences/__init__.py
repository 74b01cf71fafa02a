"""Answers to the exercises of the chapter "Images as sequences"."""
