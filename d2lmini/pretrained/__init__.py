"""A language model that was trained elsewhere, in the layers of this package."""
