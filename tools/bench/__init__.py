"""What the package and the house cost, in time and memory: `make bench`. None of it is a test."""
