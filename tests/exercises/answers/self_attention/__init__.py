"""Right and wrong answers to the exercises of the chapter "Self-attention"."""
