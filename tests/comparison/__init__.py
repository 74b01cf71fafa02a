"""What a notebook is compared by, and the processor that nobody has built."""
