"""What the layers cost, counted in FLOPs."""

import math
from typing import Any

from d2lmini_exercises.engine import Case, Number, WrongAnswer, exercise, prediction


def _list_projections(h: int) -> dict[str, tuple[tuple[float, float], ...]]:
    """What is wrong if so many projections work on the n queries and so many on the m keys; right is (2, 2)."""
    return {
        "and after the concatenation? W_o is a projection, too": ((1, 2),),
        "queries, keys, values, and W_o: one of the four is missing, and it is not W_o": ((2, 1),),
        "which tokens meet W_k and W_v? And there is a fourth projection": ((3, 0),),
        "which tokens meet W_q? And there is a fourth projection": ((0, 3),),
        "the keys and the values are made from the other m tokens": ((4, 0),),
        "the queries are made from n tokens, and W_o works on n outputs": ((0, 4),),
        "two of the four projections work on n tokens and two on m: which are which?": ((3, 1),),
        "W_o works on what comes out: how many outputs are there?": ((1, 3),),
        "W_o works on all heads together: it gets d features for each output": ((1 + 1 / h, 2),),
        "a projection leads to d features, all heads together: one of yours counts a single head": (
            *((2 / h, 2 / h), (2, 1 / h), (2, 2 / h), (2, 1 + 1 / h), (1 + 1 / h, 2 / h), (1 / h, 2 / h)),
        ),
        "all heads together have d features, not d features each": ((2 * h, 2 * h), (1 + h, 2 * h)),
        "W_o works once, on the concatenation of all heads, not once for each head": ((1 + h, 2),),
        "the unit 2 is in the projections more than once": ((4, 4),),
    }


def _list_mixings(n: int, m: int, h: int, width: int) -> dict[str, tuple[float, ...]]:
    """What is wrong if scores and mixture together cost so many times n m d, with h heads; right is 4."""
    w = 1 / width
    return {
        "the unit 2 is in more than once: a product of an a×b and a b×c matrix is 2abc": (8, 6),
        "each score is a sum over the width of a head, and the mixture is as much work: where is the width?": (
            *(4 * w, 2 * w, 2 + 2 * w, 2 + w, 1 + 2 * w, 1 + w),
        ),
        "a term too many: only products of matrices count here, and the softmax is none": (
            *(4 + each * times * w for each in (1, 1 / h) for times in range(1, 6)),
        ),
        "scores and mixture are half of what they should be: is one of them missing, or the unit 2?": (2,),
        "one of scores and mixture has not got the unit 2": (3,),
        "scores and mixture are two products, and the unit 2 belongs to both": (1,),
        "how wide is a head? All heads together compare d features": (4 * h, 3 * h, 2 * h, h),
        "how wide is a head? One of scores and mixture has heads of width d": (2 + 2 * h, 2 + h, 1 + 2 * h, 1 + h),
        "that is a single head: there are num_heads of them": (4 / h, 3 / h, 2 / h, 1 / h),
        "one of scores and mixture counts a single head": (2 + 2 / h, 2 + 1 / h, 1 + 2 / h, 1 + 1 / h),
        "where are the scores, and where is the mixture?": (0,),
        "each of n queries meets each of m keys: how many scores are these?": (4 * m / n, 4 * n / m),
        "n queries meet m keys, and so do the weights: one of scores and mixture is of another size": (
            2 + 2 * m / n,
            2 + 2 * n / m,
        ),
    }


def count(
    n: int, m: int, d: int, num_heads: int, *, projections: Any = None, mixing: Any = None, factor: float = 1
) -> float:
    """FLOPs of multi-head attention, right unless told which entry of which table is wrong."""
    queries, keys, each = 2.0, 2.0, 4.0
    if projections:
        queries, keys = _list_projections(num_heads)[projections[0]][projections[1]]
    if mixing:
        each = _list_mixings(n, m, num_heads, d // num_heads)[mixing[0]][mixing[1]]
    return factor * (2 * d * d * (queries * n + keys * m) + each * n * m * d)


def _name(knob: str, table: dict[str, Any]) -> dict[str, tuple[dict[str, Any], ...]]:
    return {hint: tuple({knob: (hint, i)} for i in range(len(some))) for hint, some in table.items()}


_UNIT = "our unit is 2: a multiplication and an addition. Where is it missing?"
exercise(
    "debug-counter",
    count,
    tuple(f"n, m, d, num_heads = {sizes}" for sizes in ("7, 11, 27, 9", "9, 4, 8, 1", "6, 10, 12, 4")),
    {
        **_name("projections", _list_projections(9)),
        **_name("mixing", _list_mixings(7, 11, 9, 3)),
        "the unit 2 is in more than once, everywhere: is it in the parts and in the sum?": {"factor": 2},
        _UNIT: ({"factor": 1 / 2}, lambda n, m, d, num_heads: 2 * d * d * (n + m) + 4 * n * m * d),
    },
    claim="it counts four projections, the scores and the mixture",
    verified="right for nine heads, one head and four, with more keys than queries and with fewer",
    hint="count the parts one by one: what is the product of an a×b and a b×c matrix?",
    together=2,
)


def count_additive(
    n: float,
    d: float,
    h: float,
    *,
    tokens: Any = lambda d, h: 4 * d * h,
    pairs: Any = lambda d, h: 2 * (d + h),
    last: Any = float,
) -> Any:
    """FLOPs of additive self-attention with num_hiddens = h, for each token and each pair, right unless told."""
    return last(n * tokens(d, h) + n * n * pairs(d, h))


def use_formula(formula: Any, n: float, d: float, h: float) -> Any:
    """What the formula gives, also for sizes that are not whole: a layer that is measured does not take them."""
    try:
        return formula(n, d, h)
    except Exception as error:
        if isinstance(n, int):
            raise
        hint = "a formula also takes numbers that are not whole: where does your function need whole ones?"
        raise WrongAnswer("it is a formula", hint, got=type(error).__name__) from error


exercise(
    "measure-additive",
    count_additive,
    (
        *(f"n, d, h = {sizes}" for sizes in ("9, 14, 20", "7, 4, 3", "3, 16, 16", "20, 1, 3")),
        *(
            Case(f"n, d, h = {sizes}", "it also takes numbers that are not whole", "it is a formula")
            for sizes in ("0.5, 1.5, 3.5", "1.25, 3, 4")
        ),
    ),
    {
        "that is the dot product's layer: additive attention has no projection of the values, and no W_o": {
            "tokens": lambda d, h: 8 * d * d,
            "pairs": lambda d, h: 4 * d,
        },
        "additive attention does not project the values": (
            {"tokens": lambda d, h: 6 * d * d, "pairs": lambda d, h: 4 * d},
            {"tokens": lambda d, h: 6 * d * h},
            {"tokens": lambda d, h: 4 * d * h + 2 * d * d},
        ),
        "where does w_v come in? It meets num_hiddens numbers for each pair of tokens": {"pairs": lambda d, h: 2 * d},
        "the weights meet the values: where is the mixture?": {"pairs": lambda d, h: 2 * h},
        "the projections are half of what they should be: queries and keys have one each, and a multiply-add is 2": {
            "tokens": lambda d, h: 2 * d * h
        },
        "the projections work on n tokens, not on n² pairs": {
            "tokens": lambda d, h: 0,
            "pairs": lambda d, h: 4 * d * h + 2 * (d + h),
        },
        "that is the part that grows with n²: what is left when you take it away?": {"tokens": lambda d, h: 0},
        "that is the projections only": {"pairs": lambda d, h: 0},
        "the second difference is twice the factor of n²: halve it": {"pairs": lambda d, h: 4 * (d + h)},
        "w_v meets num_hiddens numbers for each pair of tokens, not one": {"pairs": lambda d, h: 2 * d + 2},
        "a multiply-add is 2 FLOPs": {"last": lambda flops: flops / 2},
        "num_hiddens need not be d: measure a layer where they differ": (
            lambda n, d, h: count_additive(n, d, d),
            lambda n, d, h: count_additive(n, h, h),
        ),
        "the values are d wide, whatever num_hiddens is": {"pairs": lambda d, h: 4 * h},
        "w_v meets num_hiddens numbers, not d": {"pairs": lambda d, h: 4 * d},
        "the projections lead from d to num_hiddens features": (
            {"tokens": lambda d, h: 4 * d * d},
            {"tokens": lambda d, h: 4 * h * h},
        ),
        "n tokens meet n tokens: the scores are n², not n": {
            "tokens": lambda d, h: 4 * d * h + 2 * (d + h),
            "pairs": lambda d, h: 0,
        },
        "what it gives need not be whole either: where do you round?": ({"last": math.floor}, {"last": math.ceil}),
    },
    claim="the formula gives what the instrument counts",
    verified="right at four sizes, and a formula: it also takes numbers that no layer has",
    hint="take the second difference in n first, then look at what is left. Vary one of n, d and h at a time",
    use=use_formula,
)


# FLOPs for n = 10, d = 4 of a convolution with kernel 5, a GRU, and multi-head self-attention with 2 heads.
prediction(
    "predict-stack",
    {
        Number(
            "the convolution's count",
            1600,
            "each of n outputs has d features, and each of them is made from all features of k tokens",
        ): {
            "a multiply-add is 2 FLOPs in this book": 800,
            "each output feature is made from all 4 input features": 400,
            "that is a linear layer: the kernel covers 5 tokens": 320,
            "that is the number of outputs: how many products does each of them need?": 40,
            "n stands in the formula once": 8000,
            "there are zeros around the sequence: 10 outputs, not 6": 960,
        },
        Number("the GRU's count", 1920, "each step multiplies token and state by three matrices each"): {
            "a multiply-add is 2 FLOPs in this book. Or did you forget the matrices of the state?": 960,
            "a GRU has three pairs of matrices: two gates and a candidate": 640,
            "that is an LSTM: a GRU has one pair of matrices less": 2560,
            "that is one step: there are 10": 192,
        },
        Number("multi-head self-attention's count", 2880, "four projections, the scores and the mixture"): {
            "a multiply-add is 2 FLOPs in this book": 1440,
            "that is the mixing alone: where are the projections?": 1600,
            "those are the projections alone: where is the mixing?": 1280,
            "and after the concatenation? There are four projections": 2560,
            "the number of heads does not multiply the mixing: width per head?": 4480,
            "width per head? Two heads are half as wide each": 5760,
            "scores only, or one head only? The weights also meet the values": 2080,
        },
    },
    right="1600, 1920 and 2880: all three are right",
)
