"""The phrases by which the book's texts are read. A translation changes them here, and in its texts."""

SUMMARY = "Summary"  # the heading of the last section above the exercises
EXERCISES, EXERCISE, SOLUTION = "Exercises", "Exercise", "Solution"  # headings of levels 2, 3 and 4
DOUBTS = "Does this hold?"  # the heading of level 4 above what is folded at the end of a section
PREDICT = "Predict"  # how a question begins, in bold
TAKEAWAY = "In one sentence."  # how the sentence of a section begins, in bold
PREREQUISITES, RUNNING_TIME = "Prerequisites", "Running time"  # in bold, below the title
