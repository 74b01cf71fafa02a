"""Answers to the exercises of the chapter "CNN, RNN, self-attention: the costs measured"."""
