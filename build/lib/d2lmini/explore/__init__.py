"""Things to touch: panels of radio buttons in the output of a cell, which need no script."""
