"""The figures of the book, in one style."""
