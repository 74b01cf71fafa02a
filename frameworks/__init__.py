"""The same layer in other frameworks: a notebook each, and what compares them with ours."""
