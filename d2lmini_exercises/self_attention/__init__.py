"""Checkers of the chapter "Self-attention"."""

from d2lmini_exercises.engine import Task, list_in_order

list_in_order(
    "Self-attention",
    Task(
        "Exercise 2.1",
        "predict-causal-row",
        "which words may 吃 see, and what do their weights add up to?",
        '"A set, not a sequence", where a causal mask is used',
    ),
    Task(
        "Exercise 2.2",
        "causal-self-attention",
        "who asks, who is asked, what is mixed: which matrix makes which of the three?",
        'formula (2.3) in "Projections: three roles, three matrices"; the mask in "The layer"',
    ),
    Task(
        "Exercise 2.3",
        "debug-self-attention",
        "which numbers of the layer can learn, and does the gradient of the loss reach all of them?",
        '"The layer": compare line by line',
    ),
    Task(
        "Exercise 2.4",
        "use-equivariance",
        "which order of the tokens changes nothing at all, and is it counted?",
        'formula (2.4) in "A set, not a sequence": both of its sides',
    ),
    Task(
        "Exercise 2.5",
        "repair-keys",
        "which product of the two matrices stands in a score, and which side of it does M touch?",
        'formula (2.3) in "Projections: three roles, three matrices": write the score with both matrices',
    ),
)
