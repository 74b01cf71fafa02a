"""What `make notebooks`, `make repository` and `make site` call."""
