"""Release: the name and version of the repository, the book as one file, and what runs once a week."""
