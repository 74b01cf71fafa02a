"""Right and wrong answers to the exercises of the chapter "Multi-head attention"."""
