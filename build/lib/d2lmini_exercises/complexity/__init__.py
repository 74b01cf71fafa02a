"""Checkers of the chapter "CNN, RNN, self-attention: the costs measured"."""
