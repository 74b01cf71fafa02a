"""Checkers of the chapter "The Transformer block"."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini_exercises.engine import Case, Number, Task, WrongAnswer, draw, exercise, list_in_order, prediction

# Parameters of an encoder block, the hidden width of a gated network, the size of a residual stream.
prediction(
    "predict-block",
    {
        Number("(a)", 18432, "two matrices, of d on one side and the hidden width on the other"): {
            "the network has two matrices": 9216,
            "the hidden layer has the width 4d": 4608,
            "there are no biases here": 18672,
        },
        Number("(b)", 27648, "a gate has a matrix of its own: how many are there in all?"): {
            "one of three matrices is missing: W_1, W_2 and W_3": 18432,
            "three matrices, not four": 36864,
        },
        Number("(c)", 128, "three matrices of h x d in place of two of 4d x d"): {
            "that is the width of the plain network": 192,
            "two of the three matrices read the token; what does the third one do?": 96,
            "three matrices in place of two: how much narrower must each of them be?": 64,
            "all three have d on one side and h on the other": 288,
        },
    },
    right="a gated network has three matrices, so it is two thirds as wide",
)


Layer = Callable[[Tensor], Tensor]
Order = Callable[[Tensor, Layer, Layer], Tensor]


def spread(var: Tensor, eps: float) -> Tensor:
    return (var + eps).sqrt()


def norm(
    X: Tensor, dim: Any = -1, eps: float = 1e-5, *, unbiased: bool = False, centre: bool = True, root: Any = spread
) -> Tensor:
    centred = X - X.mean(dim=dim, keepdim=True)
    return (centred if centre else X) / root(X.var(dim=dim, keepdim=True, unbiased=unbiased), eps)


def run_stack(
    X: Tensor,
    layers: list[Layer],
    norm_first: bool,
    *,
    post: Order = lambda X, f, norm: norm(X + f(X)),
    pre: Order = lambda X, f, norm: X + f(norm(X)),
    norm: Layer = norm,
    end: Any = lambda normed_first: normed_first,
    last: Layer | None = None,
    chosen: Any = list,
) -> Tensor:
    """Layers in the residual stream, right unless told otherwise."""
    for layer in chosen(layers):
        X = (pre if norm_first else post)(X, layer, norm)
    return (last or norm)(X) if end(norm_first) else X


def use(answer: Any, X: Tensor, layers: list[Layer], norm_first: bool) -> Any:
    """The stack, with layers that look at the shape of what they read."""

    def watch(layer: Layer) -> Layer:
        def read(tokens: Tensor) -> Tensor:
            if tokens.dim() != 3 or tokens.shape[1:] != X.shape[1:]:
                hint = "a layer may look at all tokens of a sequence, as attention does: give it the whole stream"
                claim = "each layer is given (batch, n, d)"
                raise WrongAnswer(claim, hint, expected=tuple(X.shape), got=tuple(tokens.shape))
            return layer(tokens)

        return read

    watched = [watch(layer) for layer in layers]
    found = answer(X, watched, norm_first)
    if len(watched) != len(layers):
        layers.clear()  # the engine sees it
    return found


def normed(*norms: Layer) -> tuple[dict[str, Any], ...]:
    """Wrong norms, everywhere or at the end of pre-norm alone."""
    return tuple({place: norm} for norm in norms for place in ("norm", "last"))


def orders(**keywords: Order) -> tuple[dict[str, Any], ...]:
    """A wrong order of addition and norm, with the last norm as it should be, always or never."""
    return tuple({**keywords, **end} for end in ({}, {"end": lambda _: True}, {"end": lambda _: False}))


def each(X: Tensor, layers: list[Layer], norm_first: bool) -> Tensor:
    return X + sum(layer(norm(X) if norm_first else X) for layer in layers)


SIN, THREE, NOTHING = "[torch.sin]", "[torch.sin, torch.cos, torch.tanh]", "[torch.zeros_like]"
TINY = "X = torch.tensor([[[0.00005, 0.0001, 0.00015, 0.0002], [0.008, 0.008, 0.012, 0.018]]])"
DRAWN = draw(4, most=9, X=(2, 3, 4))
MIXED = draw(5, most=9, X=(3, 2, 5)) + "; mix = lambda X: X.flip(1) + X.mean(dim=1, keepdim=True)"
INPUTS = (
    (DRAWN, THREE, 1e-3, ""),  # which epsilon it is does not show yet
    (MIXED, "[torch.cos, mix]", 1e-3, ""),
    ("X = torch.full((1, 2, 4), 2.0)", SIN, 1e-4, "equal numbers"),
    (TINY, NOTHING, 1e-4, "small numbers"),  # here the last norm is the first one, too
    (TINY, f"2 * {NOTHING}", 1e-4, "small numbers"),
    (f"{DRAWN}; X = X / 2000", SIN, 1e-4, "small numbers"),
    ("X = 4096 + torch.tensor([[[0.0, 1, 2, 4], [5, 3, 3, 1]]])", SIN, 1e-2, ""),  # a large mean
    (DRAWN, "[torch.sin, torch.cos, torch.tanh, torch.sin]", 1e-3, ""),
)
exercise(
    "add-norm",
    run_stack,
    tuple(
        Case(
            f"{code}; layers = {layers}; norm_first = {norm_first}",
            tolerance=tolerance,
            trained=code == DRAWN,
            edge=edge,
        )
        for code, layers, tolerance, edge in INPUTS
        for norm_first in (False, True)
    ),
    {
        "the second layer reads what the first one has left in the stream, not X": (
            each,
            lambda *given: norm(each(*given)),
        ),
        "the layers come one after the other, the first one first": {"chosen": lambda layers: layers[::-1]},
        "how many layers are there? Each of them adds something": tuple(
            {"chosen": lambda layers, part=part: layers[part]}
            for part in (slice(1), slice(-1), slice(3), slice(-1, None))
        ),
        "the first layer of post-norm reads X as it is: no norm comes before it": lambda X, layers, norm_first: (
            run_stack(X if norm_first else norm(X), layers, norm_first)
        ),
        "a stack of pre-norm layers is not normed at its end: which norm is missing?": {"end": lambda _: False},
        "post-norm: the norm is over the sum. What is the mean of your output?": orders(
            post=lambda X, f, norm: X + norm(f(X))
        ),
        "norm_first is False: which of the two orders of (6.3) is that?": (
            *orders(post=lambda X, f, norm: X + f(norm(X))),
            lambda X, layers, first: run_stack(X, layers, True),
            lambda X, layers, first: run_stack(X, layers, not first),
        ),
        "one norm for each layer is enough, after the sum": orders(post=lambda X, f, norm: norm(norm(X) + norm(f(X)))),
        "post-norm: the layer gets X itself": orders(post=lambda X, f, norm: norm(X + f(norm(X)))),
        "where is the X that is added?": orders(post=lambda X, f, norm: norm(f(X))),
        "and the norm after each sum?": orders(post=lambda X, f, norm: X + f(X)),
        "norm_first is True: which of the two orders of (6.3) is that?": (
            *orders(pre=lambda X, f, norm: norm(X + f(X))),
            lambda X, layers, first: run_stack(X, layers, False),
        ),
        "pre-norm adds to the stream itself, not to what the norm has made of it": orders(
            pre=lambda X, f, norm: norm(X) + f(norm(X))
        ),
        "pre-norm: the norm comes before the layer": orders(pre=lambda X, f, norm: X + norm(f(X))),
        "where is the stream that is added to?": orders(pre=lambda X, f, norm: f(norm(X))),
        "pre-norm has no norm after each sum": orders(pre=lambda X, f, norm: norm(X + f(norm(X)))),
        "which numbers are normed together? Those of one token: the last dimension": normed(lambda X: norm(X, dim=1)),
        "each token has a mean of its own": normed(partial(norm, dim=(1, 2)), partial(norm, dim=(0, 1, 2))),
        "the norm runs over the features of a token, not over the batch": normed(
            partial(norm, dim=(0, 1)), partial(norm, dim=0)
        ),
        "var and std divide by d - 1 unless told otherwise: unbiased=False": normed(lambda X: norm(X, unbiased=True)),
        "divide by the standard deviation, which is the root of the variance": normed(
            lambda X: norm(X, root=lambda var, eps: var + eps)
        ),
        "subtract the mean": normed(lambda X: norm(X, centre=False)),
        "subtract the mean: the variance is the mean square of what is left": normed(
            lambda X: X / (X.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        ),
        "epsilon belongs under the root": normed(lambda X: norm(X, root=lambda var, eps: var.sqrt() + eps)),
        "and epsilon? A token of equal numbers has the variance 0": normed(
            partial(norm, eps=0.0), partial(norm, eps=1e-30)
        ),
        "which epsilon is yours? (6.2) has 1e-5": normed(partial(norm, eps=1e-6), partial(norm, eps=1e-8)),
    },
    claim="each layer adds to the stream, and the norms stand where (6.3) has them",
    verified="both orders, also of layers that mix tokens; each token normed, epsilon under the root; gradients too",
    hint="print the stream after each step: layer, sum, norm",
    use=use,
    trained=True,
)


def norm_over(X: Tensor, over: tuple[int, ...]) -> Tensor:
    return F.layer_norm(X.mT, X.shape[1:2]).mT if over == (1,) else F.layer_norm(X, X.shape[min(over) :])


def block(
    X: Tensor,
    valid_lens: Tensor,
    attention: Any,
    ffn: Any,
    *,
    over: tuple[int, ...] = (2,),
    queries: str = "Y",
    keys: str = "Y",
    values: str = "Y",
    hide: bool = True,
    first: str = "X",
    renorm: bool = False,
    read: str = "normed",
    end: bool = False,
    second: Any = lambda Z, found: Z + found,
    keep: bool = True,
) -> Tensor:
    """An encoder block in pre-norm, right unless told otherwise."""
    Y = norm_over(X, over)
    reads = [X if name == "X" else Y for name in (queries, keys, values)]
    found = attention(*reads, valid_lens if hide else None)
    Z = {"X": X, "Y": Y, "0": 0}[first] + found
    Z = norm_over(Z, over) if renorm else Z
    Z = second(Z, ffn({"normed": norm_over(Z, over), "Z": Z, "Y": Y}[read]))
    Z = norm_over(Z, over) if end else Z
    return Z if keep else Z * (torch.arange(X.shape[1]) < valid_lens[:, None])[..., None]


def use_block(answer: Any, X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Any:
    """The block on one batch, unless its attention is given no lengths."""
    try:
        return answer(X, valid_lens, attention, ffn)
    except (ValueError, RuntimeError) as error:
        if "valid_lens" not in str(error):
            raise
        hint = "the lengths come last, as they are: attention(queries, keys, values, valid_lens)"
        raise WrongAnswer("the block runs", hint, got=error) from error


CODE = (
    "import d2lmini as d2l; look = d2l.DotProductAttention(0); ffn = lambda X: X.cumsum(dim=-1).sin(); "
    "attention = lambda *inputs, **others: 2 * look(*inputs, **others)"
)
exercise(
    "debug-block",
    block,
    (
        *(
            Case(f"{draw(seed, most=9, X=shape)}; valid_lens = torch.tensor({lens}); {CODE}")
            for seed, shape, lens in ((7, (2, 3, 4), [2, 3]), (2, (3, 5, 6), [1, 5, 3]), (4, (1, 4, 8), [3]))
        ),
        Case(
            f"{draw(7, most=9, X=(2, 3, 4))}; valid_lens = torch.tensor([2, 3]); X = X / 1000; X[0, 1] = 0; {CODE}",
            "(6.2) has an epsilon, under the root: 1e-5, as nn.LayerNorm has",
            "a token of small or equal features has a norm, too",
            edge="small numbers",
        ),
    ),
    {
        "the norm of a token has nothing to do with other sequences": {"over": (0, 1, 2)},
        "the norm of a token: which numbers does yours take together?": {"over": (1, 2)},
        "the norm of a token takes its features together, not the tokens of a sequence": {"over": (1,)},
        "in pre-norm, attention reads the stream through the norm: queries, keys and values": {
            "queries": "X",
            "keys": "X",
            "values": "X",
        },
        "queries, keys and values are three looks at the same normed tokens": {"values": "X"},
        "queries, keys and values: all three come from the normed tokens": {"queries": "X"},
        "the keys, too, come from the normed tokens": {"keys": "X"},
        "change a token beyond valid_lens: which outputs move?": {"hide": False},
        "what does attention add to: the stream, or what the norm has made of it?": {"first": "Y"},
        "attention writes into the stream, it does not replace it": {"first": "0"},
        "what does the feed-forward network add to: the stream, or a normed copy of it?": {"renorm": True},
        "the feed-forward network reads the stream through a norm, too": {"read": "Z"},
        "the feed-forward network reads the stream as it is after attention": {"read": "Y"},
        "the feed-forward network adds to the stream": {"second": lambda Z, found: found},
        "pre-norm: no norm stands at the end of a block": {"end": True},
        "where is the feed-forward network?": {"second": lambda Z, found: Z},
        "the real tokens are right: at the padding leave what the layers give, since nobody looks there": {
            "keep": False
        },
    },
    claim="it is a pre-norm encoder block",
    verified="both layers read through a norm of each token and add to the stream, padding is hidden; gradients too",
    hint="print the stream after each of the two layers: what did the layer read, and what was its output added to?",
    use=use_block,
    trained=True,
    together=4,
)


def stays_large(block: Layer, d: int, *, judge: Callable[[Layer, int], bool] | None = None) -> Tensor:
    """Whether a pre-norm block lets a large stream through; `judge` is a mistake."""
    if judge is not None:
        return torch.tensor(float(judge(block, d)))
    X = torch.arange(4.0 * d).sin().reshape(1, 4, d)
    with torch.no_grad():
        sizes = [block(factor * X).abs().max() for factor in (1e6, 1e9)]
    return (sizes[1] > 30 * sizes[0]).float()


def ask(answer: Callable[..., Any], block: nn.Module, d: int) -> Any:
    """What is said of a block, True or False."""
    found = answer(block.forward, d)  # a function has no flag to look at
    if isinstance(found, Tensor):
        return found.float()
    if not isinstance(found, (bool, np.bool_)):
        raise WrongAnswer("it returns True or False", "say whether the block is pre-norm", got=type(found).__name__)
    return float(found)


def looks_normed(block: Layer, d: int) -> bool:
    """Whether what leaves a block has no mean 0 and spread 1."""
    with torch.no_grad():
        Y = block(torch.arange(4.0 * d).sin().reshape(1, 4, d))
    return bool(Y.mean(-1).abs().max() > 1e-3 or (Y.std(-1, correction=0) - 1).abs().max() > 1e-2)


LEARNED = "its norms have learned, so what leaves it has another mean and spread. Change the size of what comes"
LOUD = "[part.data.mul_({}) for name, part in block.named_parameters() if '{}' in name]"
LEARN = "[nn.init.normal_(part) for name, part in block.named_parameters() if 'norm' in name]"
exercise(
    "which-norm",
    stays_large,
    [
        Case(
            f"torch.manual_seed({seed}); d = {d}; block = d2l.TransformerEncoderBlock(d, 16, num_heads=2, dropout=0, "
            f"norm_first={first}, norm='{norm}').eval()" + f"; {then}" * bool(then),
            LEARNED if then == LEARN else "",
        )
        for seed, (d, first, norm, then) in enumerate(
            (
                (8, True, "layer", ""),
                (8, False, "layer", ""),
                (8, False, "layer", LEARN),
                (6, True, "layer", LEARN),
                (4, False, "rms", LEARN),
                (12, True, "rms", LEARN),
                (8, True, "layer", LOUD.format(4, "ffn")),
                (8, False, "layer", LOUD.format(300, "norm")),
            )
        )
    ],
    {
        LEARNED: {"judge": looks_normed},
        "there are blocks of both kinds. In which of them does a norm stand behind each sum?": (
            {"judge": lambda block, d: True},
            {"judge": lambda block, d: False},
            {"judge": lambda block, d: not stays_large(block, d)},
        ),
    },
    claim="it says whether the block is pre-norm",
    verified="right for blocks of both kinds, also where the norms have learned, and without a mean",
    hint="send a token through that is a thousand times as large: what becomes of it behind a norm?",
    use=ask,
    untried="how fast it is",
)

list_in_order(
    "The Transformer block",
    Task(
        "Exercise 6.1",
        "predict-block",
        "how many matrices has each of the two networks, and of which size?",
        'formula (6.4) in "Something must compute"; the gate in "What today\'s models changed"',
    ),
    Task(
        "Exercise 6.2",
        "add-norm",
        "where does the stream itself go through a norm, and what comes out at the very end?",
        'formulas (6.2) and (6.3) in "Keep what was there"',
    ),
    Task(
        "Exercise 6.3",
        "debug-block",
        "what does each layer read, and what is its output added to?",
        'formula (6.3) in "Keep what was there", and "The block"',
    ),
    Task(
        "Exercise 6.4",
        "which-norm",
        "which of the two orders forgets how large its input was, and where?",
        'formula (6.3) in "Keep what was there": on which path does the norm stand?',
    ),
)
