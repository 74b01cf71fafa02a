"""Answers to the exercises of the chapter "Reading reviews"."""
