"""What an instructor hands out and gets back: the student edition and its marks."""
