"""Scores so far from 0 that no finite penalty serves, and what is asked where an answer fails on them."""

FAR = 2.0**63  # of queries and keys: three times their product is still a number in float32, and 2**128 is none

OVERFLOW = "large scores: does an exp overflow, or a limit cut them off? F.softmax takes each row's largest away first"
OUTWEIGHED = "what is left for the others after the softmax? Mask before it; only minus infinity makes a weight 0"
LOW = "the visible scores are far below 0: which number is below every score? And is each exp of them 0?"
