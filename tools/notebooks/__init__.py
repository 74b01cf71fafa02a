"""Bring notebooks up to date with their texts, run them again, compare what they show, and mark the pages."""
