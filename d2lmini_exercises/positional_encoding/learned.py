"""A table of positions that is learned, and what encodings are used for."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

import d2lmini as d2l
from d2lmini_exercises.engine import (
    Case,
    WrongAnswer,
    checker,
    draw,
    exercise,
    expect_function,
    expect_shape,
    get_rounding,
)

_SHARE = 4  # a table of one row for each position may be so many times larger


@checker("learnable-positions", trained=True, untried="other dtypes, a GPU, how fast it is")
def check_learnable_positions(answer: Any) -> str:
    """`answer(num_hiddens, max_len)`: a module with `forward(X, start=0)` that adds positions, from few parameters."""
    if isinstance(answer, nn.Module):
        raise WrongAnswer("the answer is a class", "pass the class itself, without parentheses")
    expect_function(answer)
    for num_hiddens, max_len in ((6, 100), (32, 100), (4, 200)):
        sizes = f"num_hiddens, max_len = {num_hiddens}, {max_len}"
        layer = answer(num_hiddens, max_len)
        if not isinstance(layer, nn.Module):
            raise WrongAnswer("the answer is a class made from nn.Module", "class LearnedPositions(nn.Module): ...")
        X, nothing = torch.randn(3, 12, num_hiddens), torch.zeros(1, max_len, num_hiddens)
        layer.eval()  # without dropout
        first = layer(before := X.clone())  # lazy layers have numbers now
        if not isinstance(first, Tensor) or first.shape != X.shape:
            raise WrongAnswer("forward returns (b, n, d)", "return X plus the encodings, of all sequences", given=sizes)
        if not torch.equal(before, X):
            raise WrongAnswer("X is left unchanged", "X += ... changes the caller's tensor", given=sizes, got=before)
        trained = _read_parameters(layer, num_hiddens, max_len)
        _expect_gradients(layer, trained, nothing, sizes)
        with torch.no_grad():
            _expect_places(layer, X, nothing, sizes)
            _expect_end(layer, nothing, sizes)
    return "few parameters, each position learned and added at its place, with an offset, and nothing beyond max_len"


def _read_parameters(layer: nn.Module, num_hiddens: int, max_len: int) -> list[Tensor]:
    """The parameters that are trained, moved a little: they may begin at 0."""
    sizes = f"num_hiddens, max_len = {num_hiddens}, {max_len}"
    held = {name: parameter for name, parameter in layer.named_parameters() if parameter.numel()}
    trained: list[Tensor] = [parameter for parameter in held.values() if parameter.requires_grad]
    if not trained:
        hint = "a plain tensor, or what is in a Python list, is not trained: an nn.Parameter is, an nn.ParameterList"
        if held:
            hint = f"frozen: {', '.join(held)}. No optimiser moves what has requires_grad=False"
        raise WrongAnswer("it has parameters that are trained", hint, given=sizes)
    count, most = sum(parameter.numel() for parameter in held.values()), num_hiddens * max_len // _SHARE
    if count > most:
        hint = "positions have to share numbers: two small tables (for what?), or a function of i with a few parameters"
        raise WrongAnswer("it has few parameters", hint, given=sizes, expected=f"{most} at most", got=f"{count}")
    with torch.no_grad():
        for parameter in trained:
            parameter.add_(0.1 * torch.randn_like(parameter))
    return trained


def _expect_gradients(layer: nn.Module, trained: list[Tensor], nothing: Tensor, sizes: str) -> None:
    """What differs between two positions must depend on the parameters, and the gradient must tell; nothing: zeros."""
    rows = layer(nothing)[0]  # (max_len, d)
    found: tuple[Tensor | None, ...] = ()
    if rows.requires_grad:  # before a parameter is touched, which a graph would not bear
        found = torch.autograd.grad((rows * torch.randn_like(rows)).sum(), trained, allow_unused=True)
    kept = [parameter.detach().clone() for parameter in trained]
    with torch.no_grad():
        for parameter in trained:
            parameter.add_(0.1 * torch.randn_like(parameter))
        moved = (layer(nothing)[0] - rows).diff(dim=0).abs().amax(dim=1)  # (max_len - 1,)
        for parameter, before in zip(trained, kept, strict=True):
            parameter.copy_(before)
    if not any(gradient is not None and gradient.abs().max() > 1e-5 for gradient in found):
        hint = "are the parameters used in forward at all, and does the gradient reach them? detach, .data and no_grad "
        hint += "cut it off; and what is computed only once, in __init__, does not follow them"
        raise WrongAnswer("gradients reach the parameters", hint, given=sizes)
    if moved.min() < 1e-7:
        hint = "the parameters add the same to these two: what differs between positions must be learned"
        first = int(moved.argmin())
        given = f"{sizes}; positions {first} and {first + 1}"
        raise WrongAnswer("what differs between positions is learned", hint, given=given)


def _differ(a: Tensor, b: Tensor) -> bool:
    tolerance = max(1e-5, get_rounding(a), get_rounding(b))
    return not torch.allclose(a.double(), b.double(), atol=4 * tolerance, rtol=tolerance)


def _expect_places(layer: nn.Module, X: Tensor, nothing: Tensor, sizes: str) -> None:
    """The same rows are added to every sequence, whatever the tokens are, from the row `start` on."""
    output, rows, alone = layer(X), layer(nothing)[0], layer(torch.zeros_like(X))
    if _differ(layer(X), output):
        hint = "what is random in forward is new in each call: make it in __init__"
        raise WrongAnswer("two calls give the same", hint, given=sizes)
    if _differ(output, X + alone):
        hint = "is it added to X, or does it multiply X? And is it added to every token of every sequence?"
        raise WrongAnswer("what is added does not depend on the tokens", hint, given=sizes)
    if _differ(alone, alone[:1].expand_as(alone)):
        hint = "position 0 is position 0 in each sequence: does a dimension of your table stand for the batch?"
        raise WrongAnswer("all sequences of a batch get the same encodings", hint, given=sizes)
    n = X.shape[1]
    for start in (None, 1, 7, len(rows) // 2, len(rows) - n):
        shifted, first = output if start is None else layer(X, start), start or 0
        if _differ(shifted, X + rows[first : first + n]):
            hint = "the first token of X stands at position start, the next one after it, however long the sequence is"
            hint = hint if _differ(shifted, output) or not start else "start is not used"
            raise WrongAnswer("token i stands at start + i", hint, given=f"{sizes}; start = {start}")
    distances = torch.cdist(rows.double(), rows.double()).fill_diagonal_(1)
    if distances.min() < 1e-4:
        alike = "positions {} and {} are alike".format(*divmod(int(distances.argmin()), len(rows)))
        hint = "one vector for each position: which positions share one?"
        raise WrongAnswer("different positions get different vectors", hint, given=sizes, got=alike)


def _expect_end(layer: nn.Module, nothing: Tensor, sizes: str) -> None:
    """One position more than max_len is a ValueError."""
    max_len = nothing.shape[1]
    for n, start in ((max_len, 1), (1, max_len)):
        got = "no error"
        try:
            layer(nothing[:, :n], start)
        except ValueError:
            continue
        except Exception as error:
            got = type(error).__name__
        hint = "the last position is start + n - 1: compare it with max_len, and raise ValueError yourself"
        given = f"{sizes}; n, start = {n}, {start}"
        raise WrongAnswer("what lies beyond max_len is a ValueError", hint, given=given, expected="ValueError", got=got)


Place = Callable[[Any, Tensor], Tensor]  # the tokens so far, each with its position, or with a wrong one
_RIGHT: Place = lambda encoding, Z: encoding(Z)  # noqa: E731


def decode(
    layer: Any,
    encoding: Any,
    X: Tensor,
    *,
    query: Place = _RIGHT,
    keys: Place = _RIGHT,
    values: Place = _RIGHT,
    asked: Any = lambda kept: kept,
) -> Tensor:
    """One token after the other, right unless told otherwise."""
    outputs = []
    for Z in (X[:, : i + 1] for i in range(X.shape[1])):
        kept = asked(keys(encoding, Z)), asked(values(encoding, Z))
        outputs.append(layer(query(encoding, Z)[:, -1:], *kept))
    return torch.cat(outputs, dim=1)


def use(answer: Any, layer: Any, encoding: Any, X: Tensor) -> Any:
    """The outputs, unless more is asked of `layer` and `encoding` than to be called."""
    try:
        found = answer(layer, encoding, X)
    except AttributeError as error:
        hint = "not every encoding or layer has this attribute: call it, no more"
        raise WrongAnswer("it works with anything that is called like an encoding", hint, got=error) from error
    return expect_shape(found, tuple(X.shape), claim="it returns (b, n, d)", hint="one output for each token")


_PLACES: dict[str, Place] = {
    "none": lambda encoding, Z: Z,
    "zero": lambda encoding, Z: encoding(Z.flatten(0, 1)[:, None]).view_as(Z),
    "later": lambda encoding, Z: encoding(Z, 1),
    "earlier": lambda encoding, Z: torch.cat([encoding(Z[:, :1]), encoding(Z[:, 1:])], 1),
    "twice": lambda encoding, Z: encoding(encoding(Z)),
    "newest": lambda encoding, Z: encoding(Z, Z.shape[1] - 1),
}
_QUERY = {
    "where does the newest token stand? Its query has no position": "none",
    "where does the newest token stand? Every query stands at position 0": "zero",
    "positions count from 0: where does the first token's query stand?": "later",
    "where does the newest token stand? Its query is one place too early": "earlier",
    "the query has got its position twice": "twice",
}
_KEPT = {
    "{} have no position, or all have that of position 0: what do those of the whole sequence look like?": "none",
    "{} all stand at position 0": "zero",
    "{} stand one place too far on: positions count from 0": "later",
    "{} stand one place too early": "earlier",
    "{} have got their positions twice": "twice",
    "the first of {} stands at position 0, not at the newest token's": "newest",
}
_CALLED = "for dot-product attention and sinusoids it is right: do you call encoding and layer as they are?"
exercise(
    "debug-decoding",
    decode,
    (
        f"{draw(3, X=(3, 5, 8))}; encoding, layer = d2l.PositionalEncoding(8, 0), d2l.DotProductAttention(0)",
        Case(
            f"{draw(4, X=(2, 7, 4))}; encoding, layer = d2l.LearnedPositionalEncoding(4, 0), "
            "d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0)",
            _CALLED,
        ),
        Case(
            f"{draw(5, X=(2, 12, 6))}; layer = d2l.DotProductAttention(0); encoding = lambda X, start=0, offset=0: "
            "X / 2 + torch.arange(start + offset, start + offset + X.shape[1])[:, None] / 20",
            _CALLED,
        ),
        *(
            Case(
                f"{draw(6, X=shape)}; encoding, layer = d2l.PositionalEncoding(2, 0), d2l.DotProductAttention(0)",
                edge=edge,
            )
            for edge, shape in {"one example": (1, 4, 2), "one token": (2, 1, 2)}.items()
        ),
    ),
    {
        "the first output knows later tokens: which of them has the model seen by then?": lambda layer, encoding, X: (
            layer(*[encoding(X)] * 3)
        ),
        "each token asks itself alone: which tokens does the newest one ask?": {"asked": lambda kept: kept[:, -1:]},
        "the newest token asks itself, too: is it among the keys?": {
            "asked": lambda kept: kept[:, : max(kept.shape[1] - 1, 1)]
        },
        **{hint: {"query": _PLACES[place]} for hint, place in _QUERY.items()},
        **{
            hint.format(what): dict.fromkeys(parts, _PLACES[place])
            for hint, place in _KEPT.items()
            for what, parts in (
                ("the keys", ["keys"]),
                ("the values", ["values"]),
                ("the tokens that are kept", ["keys", "values"]),
            )
            if (what, place) != ("the keys", "zero")  # to a softmax that is the same as "none"
        },
        "how many tokens are kept? The newest one asks all those before it": tuple(
            partial(decode, asked=lambda kept, most=most: kept[:, -most:]) for most in range(2, 12)
        ),
        "positions come from encoding(X, start=...): are there some of your own?": lambda layer, encoding, X: decode(
            layer, d2l.PositionalEncoding(X.shape[2], 0), X
        ),
        "encoding need not add a table to X: is it called with the tokens themselves?": lambda layer, encoding, X: (
            decode(layer, lambda Z: Z + encoding(0 * Z), X)
        ),
        "layer has weights of its own: where is it called?": lambda layer, encoding, X: decode(
            d2l.DotProductAttention(0), encoding, X
        ),
        "the first one is right: what about the others?": lambda layer, encoding, X: decode(
            layer, encoding, X[:1].expand_as(X)
        ),
    },
    claim="one by one gives the same as all at once",
    verified=(
        "the same numbers as all at once, for each token: with sinusoids, with a learned table and weights, and with a "
        "function"
    ),
    hint="compare the first output, then the second: with which queries, keys and values was it made?",
    use=use,
    together=2,
)
