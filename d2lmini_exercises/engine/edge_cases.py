"""What an answer meets in the field, as data, and what is asked where it fails there: a checker names what it is about.

Random inputs are mild: without these, an answer may lack the very thing that its exercise is about.
"""

FAR = 2.0**63  # of queries and keys: three times their product is still a number in float32, and 2**128 is none
# Factors of two rows, or of two halves: of one sign, and so far apart, in each order, that exp of the difference is 0.
APART = ((3000.0, 1.0), (1.0, 3000.0), (-3000.0, -1.0), (-1.0, -3000.0))

OVERFLOW = "large scores: does an exp overflow, or a limit cut them off? F.softmax takes each row's largest away first"
OUTWEIGHED = "what is left for the others after the softmax? Mask before it; only minus infinity makes a weight 0"
LOW = "the visible scores are far below 0: which number is below every score? And is each exp of them 0?"
ROWS = "one row's scores are far from another's: is what you take away before each exp that row's own maximum?"
NOTHING = "as long as the maximum is -inf, -inf minus -inf is NaN: what weight has such a pair?"
