"""Answers to the exercises of the chapter "The Transformer block"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
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
    add_norm = d2l.AddNorm(X.shape[-1], 0.0)
    return add_norm.around(X, layer, norm_first=norm_first)


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


def padded(
    measure: Callable[[Tensor], Tensor] = lambda change: change.abs().max(),
    *,
    fill: int = 0,
    front: bool = False,
    lens: Callable[[int, int, int], Tensor | None] = lambda b, n, count: torch.full((b,), n),
    keep: bool = False,
    against: bool = True,
) -> Callable[[Any, Tensor, int], Any]:
    """The effect of padding, right unless told otherwise."""

    def answer(encoder: Any, tokens: Tensor, count: int) -> Any:
        b, n = tokens.shape
        longer = F.pad(tokens, (count, 0) if front else (0, count), value=fill)
        found = encoder(longer, lens(b, n, count))
        if keep:
            return measure(found - F.pad(encoder(tokens), (0, 0, 0, count)))
        other = encoder(tokens) if against else encoder(longer, lens(b, n, count))[:, :n]
        return measure(found[:, :n] - other)

    return answer


def one_example_at_a_time(encoder: Any, tokens: Tensor, count: int) -> Tensor:
    changes = [padded()(encoder, row[None], count) for row in tokens]
    encoder(F.pad(tokens, (0, count)))  # to see how much it would matter
    return torch.stack(changes).max()


def against_padded(encoder: Any, tokens: Tensor, count: int) -> Tensor:
    b, n = tokens.shape
    longer = F.pad(tokens, (0, count))
    return (encoder(longer, torch.full((b,), n)) - encoder(longer))[:, :n].abs().max()


def right_targets(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    places = torch.arange(target.shape[1] + 1)
    labels = F.pad(target, (0, 1)).masked_fill(places > lens[:, None], -100)
    return F.pad(target, (1, 0), value=bos), labels.masked_fill(places == lens[:, None], eos)


def other_labels(change: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    def answer(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
        inputs, labels = right_targets(target, lens, bos, eos)
        return inputs, change(target, labels, lens, eos)

    return answer


def other_inputs(change: Callable[[Tensor, int, int], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    return lambda target, lens, bos, eos: (change(target, bos, eos), right_targets(target, lens, bos, eos)[1])


def targets_in_place(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    results = right_targets(target, lens, bos, eos)
    target[:, -1] = eos
    return results


def targets_with_eos(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    inputs, labels = right_targets(target, lens, bos, eos)
    return inputs.masked_fill(torch.arange(inputs.shape[1]) == lens[:, None] + 1, eos), labels


def hidden_padding(target: Tensor, lens: Tensor, fill: int) -> Tensor:
    return target.masked_fill(torch.arange(target.shape[1]) >= lens[:, None], fill)


def cached(
    *,
    position: Callable[[int], int | None] = lambda t: t,
    scale: Callable[[int, int], float] = lambda d, keys: math.sqrt(d),
    dim: int = -1,
    transpose: bool = True,
    value: int = 2,
    past_only: bool = False,
    keep: bool = True,
    key_position: bool = True,
) -> Callable[..., tuple[Tensor, Any]]:
    """Attention with a cache, right unless told otherwise."""

    def answer(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
        W = tuple(part.T if transpose else part for part in W)
        kept = () if cache is None else cache
        row = position(len(kept))
        placed = x if row is None else x + P[row]
        stored = placed if key_position else x
        newest = (stored @ W[1], stored @ W[value])
        pairs = (*kept, newest) if keep else (newest,)
        seen = pairs[:-1] if past_only else pairs
        if not seen:
            return torch.zeros_like(x), pairs
        K, V = (torch.stack(part, dim=1) for part in zip(*seen, strict=True))
        scores = (placed @ W[0])[:, None] @ K.mT / scale(x.shape[1], K.shape[1])
        return (F.softmax(scores, dim=dim) @ V)[:, 0], (*kept, newest)

    return answer


def cached_in_place(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    cache = [] if cache is None else cache
    cache.append(x + P[len(cache)])
    X = torch.stack(cache, dim=1)
    Q, K, V = (X @ part.T for part in W)
    return (F.softmax(Q[:, -1:] @ K.mT / math.sqrt(x.shape[1]), dim=-1) @ V)[:, 0], cache


def placed_again(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    """Keeps the tokens, and adds positions to all of them at each step."""
    X = x[:, None] if cache is None else torch.cat([cache, x[:, None]], dim=1)
    X = X + P[: X.shape[1]]
    Q, K, V = (X @ part.T for part in W)
    return (F.softmax(Q[:, -1:] @ K.mT / math.sqrt(x.shape[1]), dim=-1) @ V)[:, 0], X


def cached_and_changed(x: Tensor, cache: Any, P: Tensor, *W: Tensor) -> tuple[Tensor, Any]:
    result = cached()(x.clone(), cache, P, *W)
    x += 1
    return result


def draft(
    count: Callable[[Tensor], Any] = lambda same: same.long().cumprod(0).sum(), *, shift: bool = True
) -> Callable[..., Any]:
    """How many tokens of a draft are right, right unless told otherwise."""

    def answer(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
        inputs = torch.cat([last, draft[:, :-1]], dim=1) if shift else draft
        logits = decoder.step(inputs, state)[0]
        return count((logits.argmax(-1) == draft)[0])

    return answer


def one_by_one(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    token = last
    for i in range(draft.shape[1]):
        logits, state, _ = decoder.step(token, state)
        token = logits.argmax(-1)
        if token.item() != draft[0, i]:
            return i
    return draft.shape[1]


RIGHT: dict[str, list[Any]] = {
    "predict-transformer": [(49728, 35, 3072), torch.tensor([49728, 35, 3072])],
    "add-norm": [added(), by_layer_norm],
    "debug-decoder": [decoder()],
    "measure-padding": [one_example_at_a_time, padded(), padded(lambda change: change.abs().max().item())],
    "shifted-targets": [right_targets, lambda *args: list(right_targets(*args))],
    "cached-attention": [cached(), lambda *args: list(cached()(*args))],
    "check-draft": [draft(), draft(lambda same: int(same.long().cumprod(0).sum()))],
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
    ("measure-padding", padded(lambda change: change.max()), "take its size"),
    ("measure-padding", padded(lambda change: change.abs().mean()), "not the mean"),
    ("measure-padding", padded(lambda change: change.abs().sum()), "not the sum"),
    ("measure-padding", padded(lambda change: change.norm()), "not the length of them all"),
    ("measure-padding", padded(lambda change: change.square().max()), "not its square"),
    ("measure-padding", padded(lambda change: change.norm(dim=2).max()), "a token's change"),
    ("measure-padding", against_padded, "compare with the tokens *without* padding"),
    (
        "measure-padding",
        lambda encoder, tokens, count: encoder(F.pad(tokens, (0, count)), mask=torch.ones(1).bool()),
        "but give it valid_lens here",
    ),
    ("measure-padding", padded(lambda change: change[0].abs().max()), "all examples of the batch"),
    ("measure-padding", padded(keep=True), "at the padding itself"),
    ("measure-padding", padded(against=False), "compare with padding against without"),
    ("measure-padding", padded(lambda change: 3 * change.abs().max()), "subtract the outputs"),
    ("measure-padding", padded(lens=lambda b, n, count: None), "how is the encoder to know"),
    ("measure-padding", padded(lens=lambda b, n, count: torch.tensor(n)), "how is the encoder to know"),
    ("measure-padding", padded(lens=lambda b, n, count: torch.full((b,), n + count)), "padding does not"),
    ("measure-padding", padded(fill=1), "then count zeros"),
    ("measure-padding", padded(front=True), "the real tokens first"),
    ("measure-padding", lambda encoder, tokens, count: 0.0, "torch.cat, or F.pad"),
    (
        "measure-padding",
        padded(lambda change: max(change.abs().max(), torch.tensor(0.1))),
        "where there is padding, valid_lens says so",
    ),
    (
        "shifted-targets",
        lambda target, lens, bos, eos: (F.pad(target, (1, 0), value=bos),) * 2,
        "what does the decoder learn from that?",
    ),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (1, 0), value=eos)), "eos is for the labels"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (0, 1), value=bos)), "not behind"),
    ("shifted-targets", targets_with_eos, "eos is an answer of the decoder"),
    ("shifted-targets", lambda *args: right_targets(*args)[::-1], "first inputs, then labels"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: t), "write the shape"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (1, 0), value=7)), "bos goes in front, and nothing"),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(hidden_padding(t, lens, -100), (0, 1), value=eos)),
        "not at the end of the row",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.masked_fill(labels == eos, -100)),
        "how does the decoder learn where to stop?",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(t, (0, 1)).scatter(1, lens[:, None], eos)),
        "what does the loss ask at the padding?",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(labels[:, 1:], (0, 1), value=-100)),
        "the *next* token",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.where(labels >= 0, eos)),
        "not eos everywhere",
    ),
    ("shifted-targets", other_labels(lambda t, labels, lens, eos: labels + 1), "what comes next? After the last"),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.masked_fill(labels == 0, -100)),
        "0 may be a real token",
    ),
    ("shifted-targets", targets_in_place, "changes the caller's tensor"),
    ("shifted-targets", lambda *args: right_targets(*args)[0], "return inputs, labels"),
    ("cached-attention", cached(position=lambda t: 0), "does not stand at position 0"),
    ("cached-attention", cached(position=lambda t: None), "add the token's row of P"),
    ("cached-attention", cached(position=lambda t: t + 1), "the first token stands at position 0"),
    ("cached-attention", cached(position=lambda t: t + (t > 0)), "how many were there before it?"),
    ("cached-attention", cached(position=lambda t: 2 * (t > 0)), "not the batch size"),
    ("cached-attention", cached(scale=lambda d, keys: 1), "divide the scores by the root of d"),
    ("cached-attention", cached(scale=lambda d, keys: d), "the root of d, not d"),
    ("cached-attention", cached(scale=lambda d, keys: math.sqrt(keys)), "not of the number of keys"),
    ("cached-attention", cached(dim=1), "the softmax runs over the keys"),
    ("cached-attention", lambda x, cache, P, *W: cached()(x, cache, 2 * P, *W), "add the row of P once"),
    ("cached-attention", cached(keep=False), "sees the cache as well"),
    ("cached-attention", cached(past_only=True), "append first, then ask"),
    ("cached-attention", cached(transpose=False), "not x @ W"),
    ("cached-attention", cached(value=1), "a projection of their own"),
    ("cached-attention", cached(key_position=False), "keys and values have their positions, too"),
    ("cached-attention", placed_again, "added once, when it comes"),
    ("cached-attention", cached_in_place, "an old cache must stay as it was"),
    ("cached-attention", cached_and_changed, "changes the caller's tensor"),
    ("cached-attention", lambda x, cache, P, *W: x, "return output, cache"),
    ("cached-attention", lambda x, cache, P, *W: (x[:, None], ()), "one output for the newest token"),
    ("cached-attention", lambda x, cache, P, *W: (cached()(x, None, P, *W)[0], None), "None stands for an empty"),
    ("cached-attention", lambda x, cache, P, *W: (7 * x, ()), "row by row"),
    ("check-draft", draft(lambda same: same.sum()), "later matches mean nothing"),
    ("check-draft", draft(lambda same: same.long().argmin()), "is there a first wrong token?"),
    ("check-draft", draft(lambda same: min(5, int(same.long().cumprod(0).sum()) + 1)), "itself does not count"),
    ("check-draft", draft(lambda same: 5), "does greedy decoding write each token"),
    ("check-draft", draft(shift=False), "the first input is last"),
    ("check-draft", one_by_one, "give all of it to the decoder at once"),
]
