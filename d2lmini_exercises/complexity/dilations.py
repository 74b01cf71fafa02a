"""Dilated convolutions: how far they see, and at what cost."""

from typing import Any

from d2lmini_exercises.engine import Number, WrongAnswer, checker, expect_function, expect_pair, prediction


@checker("design-dilations", untried="longer sequences, more layers")
def check_design_dilations(design: Any) -> str:
    """`design(n, num_layers)`: the smallest kernel and dilations with which the last output sees all n tokens."""
    expect_function(design)
    for n, num_layers in _DESIGNS:
        given = f"n, num_layers = {n}, {num_layers}"
        kernel, dilations = _read_design(design(n, num_layers), num_layers, given)
        if not _reaches_all(n, kernel, dilations):
            hint = _find_gap(n, kernel, dilations)
            raise WrongAnswer("the last output depends on each token", hint, given=given, got=(kernel, dilations))
        smallest = next(k for k in range(1, n + 1) if k**num_layers >= n)
        if kernel > smallest:
            hint = "a path chooses one of k taps in each layer: how many different ways are there in L layers?"
            if n == 1:
                hint = "for one token a kernel of 1 is enough"
            elif smallest**num_layers == n and sorted(dilations) == [(smallest + 1) ** i for i in range(num_layers)]:
                hint = f"is a root rounded up here? {smallest} to the power of {num_layers} is exactly {n}"
            raise WrongAnswer("no smaller kernel would do", hint, given=given, got=(kernel, dilations))
    return f"{len(_DESIGNS)} designs reach every token with the smallest kernel"


# At a power, just above one (also where a root is within 1e-9 of a whole number), and with a large kernel.
_DESIGNS = (
    *((9, 2), (100, 4), (64, 6), (65, 6), (12, 1), (1, 2), (243, 5), (126, 3), (3125, 5)),
    *((1025, 10), (1001, 3), (2**27 + 1, 27), (20_000, 1)),
)


def _reaches_all(n: int, kernel: int, dilations: list[int]) -> bool:
    """Whether the last output depends on each of n tokens; bit i of `seen` is the token i places back."""
    seen, everything = 1, (1 << n) - 1
    for dilation in dilations:
        taps, needed = 1, min(kernel, (n - 1) // dilation + 1)  # what lies before the first token does not count
        while taps < needed and seen != everything:
            more = min(taps, needed - taps)
            seen |= seen << more * dilation & everything
            taps += more
    return seen == everything


def _find_gap(n: int, kernel: int, dilations: list[int]) -> str:
    if sum(dilations) * (kernel - 1) < n - 1:
        return "it does not reach the first token: how far back does each layer go?"
    if min(dilations) > 1:
        return "which layer lets an output see the token just before it?"
    if len({*dilations}) < len(dilations):
        return "two dilations are the same: their taps meet in the same places"
    return "there are gaps: the next dilation may be no larger than what the layers below reach together"


def _read_design(answer: Any, num_layers: int, given: str) -> tuple[int, list[int]]:
    claim = "it returns (kernel_size, dilations)"
    first, second = expect_pair(answer, claim=claim, hint="two things", given=given)
    kernel, dilations = int(first), [int(dilation) for dilation in second]
    if len(dilations) != num_layers or min(dilations) < 1 or kernel < 1 or kernel != first:
        hint = "one dilation of at least 1 for each layer, and whole numbers"
        raise WrongAnswer("there is a dilation for each layer", hint, given=given, got=(kernel, dilations))
    return kernel, dilations


# A dilated causal stack with kernel 2 relative to attention: (n, d) = (30, 8), then (1024, 512).
ATTENTION = 8 * 30 * 64 + 4 * 900 * 8
prediction(
    "predict-depth",
    {
        Number(
            "the first ratio",
            5 * 4 * 30 * 64 / ATTENTION,
            "count the layers, then both sides in FLOPs",
            tolerance=0.006,
        ): {
            "that is one layer of the stack: how many does it need?": 4 * 30 * 64 / ATTENTION,
            "that is how many times the stack's FLOPs attention needs": ATTENTION / (5 * 4 * 30 * 64),
            "that is a stack without dilation: here each layer doubles what is seen": 29 * 4 * 30 * 64 / ATTENTION,
            "attention has projections, too": 5 * 4 * 30 * 64 / (4 * 900 * 8),
            "attention mixes, too": 5 * 4 * 30 * 64 / (8 * 30 * 64),
            "layers come whole: four of them see 16 tokens": 4 * 4 * 30 * 64 / ATTENTION,
        },
        Number("the second ratio", 2.5, "write n as 2d: then everything is a multiple of nd²"): {
            "that is one layer of the stack: how many does it need?": 0.25,
            "that is how many times the stack's FLOPs attention needs": 0.4,
            "that is a stack without dilation: here each layer doubles what is seen": 1023 / 4,
            "both the projections and the mixing count: each is 8nd² here": 5.0,
        },
    },
    right="0.87 and 2.5: wide tokens and deep stacks favour attention",
)
