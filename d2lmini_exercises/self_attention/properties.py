"""What a layer of self-attention keeps: orders, and the product of its matrices."""

import torch
from torch import Tensor

from d2lmini_exercises.engine import Number, draw, exercise, prediction


def repair(W_k: Tensor, M: Tensor, *, undo: str = "inverse, transposed") -> Tensor:
    """The keys' matrix that goes with M @ W_q, right unless told otherwise."""
    how = {"inverse": torch.linalg.inv(M), "transposed": M.T, "inverse, transposed": torch.linalg.inv(M).T, "itself": M}
    return how[undo] @ W_k


exercise(
    "repair-keys",
    repair,
    tuple(
        f"{draw(seed, W_k=(len(M), d))}; M = torch.tensor({M})"
        for seed, d, M in (
            (1, 3, [[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]),
            (2, 4, [[0.0, -1.0], [2.0, 1.0]]),
            (3, 2, [[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [0.0, 1.0, 2.0]]),
            (4, 1, [[4.0]]),
            (5, 3, [[0.0, 1.0], [2.0, 1.0]]),
        )
    ),
    {
        "the score has W_q transposed: what becomes of M there?": {"undo": "inverse"},
        "what has been multiplied must be undone: by an inverse": ({"undo": "transposed"}, {"undo": "itself"}),
        "with the old matrix the scores are other ones: try M = 2 times the identity": lambda W_k, M: W_k,
        "keys have width p: M acts on the rows of W_k, so it is multiplied from the left": (
            lambda W_k, M: W_k @ torch.linalg.inv(M),
            lambda W_k, M: W_k @ torch.linalg.inv(M).T,
        ),
    },
    claim="with it every score is what it was",
    verified="the scores stay, for four matrices of width 1 to 3",
    hint="write the score with M W_q in place of W_q: which matrix stands between W_q transposed and the new W_k?",
)

# Of the 24 orders of four tokens, those that a layer keeps.
prediction(
    "use-equivariance",
    {
        Number(
            "the number of orders for self-attention",
            24,
            "go through itertools.permutations(range(4)), and count the errors below 0.000001",
        ): {
            "the order that changes nothing counts as well": 23,
            "a list of orders that are no permutations? There are 4 · 3 · 2 · 1": (256, 120),
            "P g(X): is the output shuffled, too, in what you compare? And does your layer have no mask?": (1, 4),
        },
        Number(
            "the number of orders with a causal mask",
            1,
            "go through itertools.permutations(range(4)), and count the errors below 0.000001",
        ): {
            "one order changes nothing at all: which?": 0,
            "does the mask arrive? layer(X)[0] has none": 24,
            "in a causal mask each row allows another number of keys: print the orders that you count": (2, 3, 4, 6),
        },
        Number(
            "the number of orders for the convolution",
            4,
            'is padding_mode="circular" set, so that the last token is a neighbour of the first?',
        ): {
            "a shift around the circle keeps every neighbour: what is the error for the order 1, 2, 3, 0?": 1,
            "mirror images do not count: the kernel tells left from right": 8,
            "the order that changes nothing counts as well": 3,
            "only self-attention keeps all orders: does your convolution see its neighbours?": 24,
        },
    },
    right="24, 1 and 4: any order, none but the old one, and the shifts around the circle",
)
