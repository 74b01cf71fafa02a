"""What a layer costs, counted while it runs: work, sequential operations, memory, traffic, paths."""
