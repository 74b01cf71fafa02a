"""The examples of hypothesis."""

from hypothesis import settings

# The same examples in each run: what is green stays green until something changes.
settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")
