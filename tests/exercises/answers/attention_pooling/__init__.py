"""Right and wrong answers to the exercises of the chapter "Attention pooling"."""
