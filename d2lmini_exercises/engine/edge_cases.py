"""What an answer meets in the field: each edge has a name, and what is asked of an answer that first fails there.

Random inputs are mild and of middling sizes: without these, an answer may lack the very thing that its exercise is
about. A case names its edge, and the cases of an exercise are those that its task is about.
"""

FAR = 2.0**63  # of queries and keys: three times their product is still a number in float32, and 2**128 is none
# Factors of two rows, or of two halves: of one sign, and so far apart, in each order, that exp of the difference is 0.
APART = ((3000.0, 1.0), (1.0, 3000.0), (-3000.0, -1.0), (-1.0, -3000.0))

_SIZE = "with larger sizes it is right: does a squeeze, an index or a number in your code count on more than one?"
EDGES = {
    # A softmax, or another sum of exponentials.
    "large scores": "large scores: does an exp overflow, or a limit cut them off? "
    "F.softmax takes each row's largest away first",
    "outweighed": "what is left for the others after the softmax? A mask after it comes too late, and before it only "
    "minus infinity makes a weight 0. Or has a limit cut them off?",
    "low scores": "the visible scores are far below 0: which number is below every score, -1e9 too? And is each exp of "
    "them 0?",
    "rows far apart": "one row's scores are far from another's: is what you take away before each exp that row's own "
    "maximum?",
    "minus infinity": "as long as the maximum is -inf, -inf minus -inf is NaN: what weight has such a pair?",
    "nothing to see": "what does a softmax make of a row without a key? Compare each row's sum with the number of keys",
    # A sum, a norm, a number.
    "equal scores": "equal scores share the weight equally: where your code compares two, what if they are equal?",
    "equal numbers": "equal numbers have no spread: what keeps their norm from dividing by 0?",
    "small numbers": "where numbers are small, an epsilon counts: where does it stand?",
    "far out": "so far out each angle must be computed in double precision, from start itself: is it?",
    # Sizes.
    "one token": _SIZE,
    "one key": _SIZE,
    "one example": _SIZE,
    "one head": _SIZE,
    "width 1": _SIZE,
    "as wide as long": _SIZE,
    # A window, a cache, a piece.
    "a window of 1": "with a window of 1 a token sees itself alone: which piece does your code take then?",
    "a full window": "where the window is nearly as long as the text: count which token is the first to go, if any",
    "an empty half": "a half without a key has the log-sum-exp -inf: what does it add to the other?",
}
