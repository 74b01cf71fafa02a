"""What `make notebooks` and `make repository` call."""
