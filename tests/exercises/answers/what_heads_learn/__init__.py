"""Answers to the exercises of the chapter "What heads learn, and which matter"."""
