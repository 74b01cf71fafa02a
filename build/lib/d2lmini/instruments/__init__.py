"""What things cost, counted while they run."""
