"""Answers to the exercises of the chapter "Right shapes, wrong answers"."""
