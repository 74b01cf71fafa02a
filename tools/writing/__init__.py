"""Write: begin a chapter or an exercise, rename and number them, and count what a reader can bear."""
