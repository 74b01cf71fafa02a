"""The recipes of the page on extending, followed literally."""
