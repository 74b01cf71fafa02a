"""Answers to the exercises: what is added and normed, and who sees what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l

Layer = Callable[[Tensor], Tensor]


def norm(X: Tensor, dim: int | tuple[int, ...] = -1, eps: float = 1e-5, *, unbiased: bool = False) -> Tensor:
    mean = X.mean(dim=dim, keepdim=True)
    return (X - mean) / (X.var(dim=dim, keepdim=True, unbiased=unbiased) + eps).sqrt()


def centred(X: Tensor) -> Tensor:
    return X - X.mean(-1, keepdim=True)


def variance(X: Tensor) -> Tensor:
    return X.var(-1, keepdim=True, unbiased=False)


def added(
    post: Callable[[Tensor, Layer, Layer], Tensor] = lambda X, f, norm: norm(X + f(X)),
    pre: Callable[[Tensor, Layer, Layer], Tensor] = lambda X, f, norm: X + f(norm(X)),
    norm: Layer = norm,
) -> Callable[[Tensor, Layer, bool], Tensor]:
    """Add & norm, right unless told otherwise."""
    return lambda X, layer, norm_first: (pre if norm_first else post)(X, layer, norm)


def added_in_place(X: Tensor, layer: Layer, norm_first: bool) -> Tensor:
    if norm_first:
        return X + layer(norm(X))
    X += layer(X)
    return norm(X)


def by_layer_norm(X: Tensor, layer: Layer, norm_first: bool) -> Tensor:
    norm = nn.LayerNorm(X.shape[-1])
    return X + layer(norm(X)) if norm_first else norm(X + layer(X))


def decoder(
    *,
    masked: Callable[[bool], bool] = lambda training: True,
    across: Callable[[Any, Tensor, Tensor], Tensor] = lambda attend, Y, memory: attend(Y, memory, memory),
    second: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda X, Y, found: X + found,
    third: Callable[[Tensor, Any], Tensor] = lambda X, ffn: X + ffn(F.layer_norm(X, X.shape[2:])),
    mask: Callable[[int], Tensor] = d2l.causal_mask,
    start: Callable[[Tensor], Tensor] = lambda X: X,
    ask: Callable[[Tensor], Tensor] = lambda X: F.layer_norm(X, X.shape[2:]),
    first: Callable[[Tensor, Tensor], Tensor] = lambda X, found: X + found,
) -> Callable[..., Tensor]:
    """A decoder block, right unless told otherwise."""

    def answer(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
        Y = F.layer_norm(X, X.shape[2:])
        allowed = mask(X.shape[1]) if masked(training) else None
        X = first(start(X), look_back(Y, Y, Y, mask=allowed))
        Y = ask(X)
        return third(second(X, Y, across(look_across, Y, memory)), ffn)

    return answer


def post_norm_decoder(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    X = F.layer_norm(X + look_back(X, X, X, mask=d2l.causal_mask(X.shape[1])), [8])
    X = F.layer_norm(X + look_across(X, memory, memory), [8])
    return F.layer_norm(X + ffn(X), [8])


def decoder_with_old_query(
    X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool
) -> Tensor:
    Y = F.layer_norm(X, [8])
    X = X + look_back(Y, Y, Y, mask=d2l.causal_mask(X.shape[1]))
    X = X + look_across(Y, memory, memory)
    return X + ffn(F.layer_norm(X, [8]))


def starter_decoder(*, mask_fault: bool = True, memory_fault: bool = True) -> Callable[..., Tensor]:
    return decoder(
        masked=(lambda training: training) if mask_fault else (lambda training: True),
        across=(lambda f, Y, memory: f(Y, Y, Y)) if memory_fault else (lambda f, Y, memory: f(Y, memory, memory)),
        second=lambda X, Y, found: Y + found,
    )


RIGHT: dict[str, list[Any]] = {
    "predict-transformer": [(49728, 35, 3072), torch.tensor([49728, 35, 3072])],
    "add-norm": [added(), by_layer_norm],
    "debug-decoder": [decoder()],
}

WRONG: list[tuple[str, Any, str]] = [
    ("predict-transformer", (49152, 35, 3072), "(7.1) has two biases, and a norm learns two"),
    ("predict-transformer", (49472, 35, 3072), "the norms learn something, too"),
    ("predict-transformer", (49408, 35, 3072), "of which sizes?"),
    ("predict-transformer", (49600, 35, 3072), "there are two norms"),
    ("predict-transformer", (49984, 35, 3072), "no bias here"),
    ("predict-transformer", (33344, 35, 3072), "the feed-forward network has two matrices"),
    ("predict-transformer", (24960, 35, 3072), "the hidden layer has the width 4d"),
    ("predict-transformer", (66240, 35, 3072), "that is a decoder block"),
    ("predict-transformer", (49728, 35, 4608), "nobody asks an old query again"),
    ("predict-transformer", (45632, 35, 3072), "do not forget W_o"),
    ("predict-transformer", (1, 35, 3072), "four d x d projections"),
    ("predict-transformer", (49728, 25, 3072), "the keys come from the encoder"),
    ("predict-transformer", (49728, 49, 3072), "the queries come from the decoder"),
    ("predict-transformer", (49728, 15, 3072), "what is hidden by a causal mask?"),
    ("predict-transformer", (49728, 12, 3072), "a weight for each key"),
    ("predict-transformer", (49728, 70, 3072), "one block, not both"),
    ("predict-transformer", (49728, 1, 3072), "who asks, and who is asked?"),
    ("predict-transformer", (49728, 35, 1536), "what did you leave out?"),
    ("predict-transformer", (49728, 35, 768), "in each of the two blocks"),
    ("predict-transformer", (49728, 35, 1280), "the memory has keys and values, too"),
    ("predict-transformer", (49728, 35, 1792), "those of the decoder's own tokens"),
    ("predict-transformer", (49728, 35, 3328), "<bos> is one of the five"),
    ("predict-transformer", (49728, 35, 2816), "<bos> has a key and a value, too"),
    ("predict-transformer", (49728, 35, 48), "a vector of 64 numbers"),
    ("predict-transformer", (49728, 35, 1), "how many vectors are kept"),
    ("predict-transformer", (49728, 35), "look at the starter's form"),
    ("add-norm", added(post=lambda X, f, norm: X + norm(f(X))), "the norm is over the sum"),
    ("add-norm", added(post=lambda X, f, norm: X + f(norm(X))), "norm_first is False"),
    ("add-norm", added(post=lambda X, f, norm: norm(norm(X) + norm(f(X)))), "one norm is enough"),
    ("add-norm", added(post=lambda X, f, norm: norm(X + f(norm(X)))), "the layer gets X itself"),
    ("add-norm", added(post=lambda X, f, norm: norm(f(X))), "where is the X that is added?"),
    ("add-norm", added(post=lambda X, f, norm: X + f(X)), "and the norm?"),
    ("add-norm", added(pre=lambda X, f, norm: norm(X + f(X))), "norm_first is True"),
    ("add-norm", added(pre=lambda X, f, norm: norm(X) + f(norm(X))), "adds to the stream itself"),
    ("add-norm", added(pre=lambda X, f, norm: X + norm(f(X))), "the norm comes before the layer"),
    ("add-norm", added(pre=lambda X, f, norm: f(norm(X))), "where is the stream"),
    ("add-norm", added(pre=lambda X, f, norm: norm(X + f(norm(X)))), "no norm after the sum"),
    ("add-norm", added(norm=lambda X: norm(X, dim=1)), "which numbers are normed together?"),
    ("add-norm", added(norm=lambda X: norm(X, dim=(1, 2))), "each token has a mean of its own"),
    ("add-norm", added(norm=lambda X: norm(X, dim=(0, 1, 2))), "not the whole batch"),
    ("add-norm", added(norm=lambda X: norm(X, unbiased=True)), "unbiased=False"),
    ("add-norm", added(norm=lambda X: centred(X) / (variance(X) + 1e-5)), "which is the root"),
    ("add-norm", added(norm=lambda X: X / (variance(X) + 1e-5).sqrt()), "subtract the mean"),
    ("add-norm", added(norm=lambda X: centred(X) / (variance(X).sqrt() + 1e-5)), "belongs under the root"),
    ("add-norm", added(norm=lambda X: norm(X, eps=0.0)), "and epsilon?"),
    ("add-norm", added(norm=lambda X: norm(X, eps=1e-6)), "which epsilon?"),
    ("add-norm", added(norm=lambda X: 2 * norm(X)), "print the result after each step"),
    ("add-norm", added_in_place, "changes the caller's tensor"),
    ("add-norm", lambda X, layer, norm_first: None, "return a tensor"),
    ("debug-decoder", starter_decoder(), "And the keys and values?"),
    ("debug-decoder", starter_decoder(memory_fault=False), "a mask that comes and goes"),
    ("debug-decoder", starter_decoder(memory_fault=False, mask_fault=False), "must not have gone through a norm"),
    ("debug-decoder", decoder(masked=lambda training: not training), "a mask that comes and goes"),
    ("debug-decoder", decoder(masked=lambda training: False), "which tokens may token 0 see?"),
    ("debug-decoder", decoder(mask=lambda n: d2l.causal_mask(n).T), "which tokens may token 0 see?"),
    ("debug-decoder", decoder(mask=lambda n: d2l.causal_mask(n).tril(-1)), "a token sees itself, too"),
    ("debug-decoder", decoder(start=lambda X: F.layer_norm(X, [8])), "the first addition, too"),
    (
        "debug-decoder",
        decoder(third=lambda X, ffn: F.layer_norm(X, [8]) + ffn(F.layer_norm(X, [8]))),
        "the last addition, too",
    ),
    ("debug-decoder", post_norm_decoder, "this is post-norm"),
    ("debug-decoder", decoder_with_old_query, "as it is now, after self-attention"),
    (
        "debug-decoder",
        decoder(across=lambda f, Y, memory: f(Y, memory, memory, mask=d2l.causal_mask(Y.shape[1]))),
        "cross-attention needs no causal mask",
    ),
    ("debug-decoder", lambda X, *others: X[:, :3], "return the stream"),
    ("debug-decoder", decoder(across=lambda f, Y, memory: f(memory, Y, Y)), "a row for each token of X"),
    ("debug-decoder", decoder(across=lambda f, Y, memory: f(Y, memory, memory).view(7)), "run it yourself"),
    ("debug-decoder", decoder(across=lambda f, Y, memory: f(Y, memory, Y)), "both come from the memory"),
    ("debug-decoder", decoder(across=lambda f, Y, memory: f(Y, Y, memory)), "both come from the memory"),
    ("debug-decoder", decoder(second=lambda X, Y, found: found), "the stream goes on"),
    (
        "debug-decoder",
        decoder(across=lambda f, Y, memory: f(Y, *[F.layer_norm(memory, [8])] * 2)),
        "has its norm from the encoder",
    ),
    ("debug-decoder", decoder(ask=lambda X: X), "the queries of cross-attention"),
    ("debug-decoder", decoder(third=lambda X, ffn: X + ffn(X)), "reads through a norm, too"),
    ("debug-decoder", decoder(third=lambda X, ffn: ffn(F.layer_norm(X, [8]))), "adds to the stream"),
    ("debug-decoder", decoder(first=lambda X, found: found), "the first residual connection"),
    (
        "debug-decoder",
        decoder(across=lambda f, Y, memory: f(Y, memory, memory, mask=torch.ones(5, 3).tril().bool())),
        "the whole source is known",
    ),
    ("debug-decoder", decoder(second=lambda X, Y, found: X + 2 * found), "three times: read the stream"),
    ("debug-decoder", lambda *args: None, "return the stream"),
]
