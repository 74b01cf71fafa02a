"""Tests of a decoder, and a reader with faults."""

from typing import Any

import torch
from torch import Tensor, nn


def draw(model: Any, batch: int = 3, n: int = 8) -> Tensor:
    torch.manual_seed(0)
    return torch.randint(model.vocab_size, (batch, n))


def draw_all(model: Any, batch: int = 3) -> tuple[Tensor, int]:
    """As many tokens as the model takes."""
    return draw(model, batch, model.max_len), model.max_len


def near(a: Tensor, b: Tensor) -> Tensor:
    return ((a - b).abs() < 1e-4).all()


def decode(model: Any, tokens: Tensor, sizes: list[int]) -> Tensor:
    state, found = model.start(), []
    for part in tokens.split(sizes, dim=1):
        logits, state = model.step(part, state)
        found.append(logits)
    return torch.cat(found, dim=1)


@torch.no_grad()
def by_properties(model: Any) -> Any:
    model.eval()
    tokens, n = draw_all(model)
    whole = model(tokens)
    ok = near(decode(model, tokens, [1] * n), whole) & near(decode(model, tokens, [3, 2, n - 5]), whole)
    for i in range(3):
        ok &= near(model(tokens[i : i + 1]), whole[i : i + 1])
    other = tokens.clone()
    other[:, 0] = (other[:, 0] + 1) % model.vocab_size
    return ok & ~near(model(other)[:, -1], whole[:, -1])


def by_assertions(model: Any) -> None:
    model.eval()
    tokens, n = draw_all(model, 2)
    for k in range(1, n):
        other = tokens.clone()
        other[1, k:] = (other[1, k:] + 1) % model.vocab_size
        moved = ((model(other) - model(tokens)).abs() > 1e-4).any(dim=2)
        assert not moved[0].any() and not moved[1, :k].any() and moved[1, k:].all()
        for sizes in ([k, n - k], [k, *[1] * (n - k)]):
            assert near(decode(model, tokens, sizes), model(tokens))
    other = tokens.clone()
    other[0] = (other[0] + 1) % model.vocab_size
    assert near(model(other)[1], model(tokens)[1])
    other = tokens.clone()
    other[:, 0] = (other[:, 0] + 1) % model.vocab_size
    assert not near(model(other)[:, -1], model(tokens)[:, -1])


def causal(model: Any) -> Any:
    model.eval()
    tokens = draw(model)
    other = tokens.clone()
    other[:, 4:] = (other[:, 4:] + 1) % model.vocab_size
    return near(model(other)[:, :4], model(tokens)[:, :4])


def stepwise(model: Any) -> Any:
    model.eval()
    tokens = draw(model)
    return near(decode(model, tokens, [1] * 8), model(tokens))


def short(model: Any) -> Any:
    model.eval()
    tokens = draw(model, n=3)
    return near(decode(model, tokens, [1] * 3), model(tokens))


def chunks(model: Any) -> Any:
    tokens = draw(model)
    return stepwise(model) & near(decode(model, tokens, [3, 5]), model(tokens))


def first_alone(model: Any) -> Any:
    tokens = draw(model)
    return chunks(model) & near(model(tokens[:1]), model(tokens)[:1])


def last_alone(model: Any) -> Any:
    tokens = draw(model)
    return chunks(model) & near(model(tokens[-1:]), model(tokens)[-1:])


def reacts(model: Any) -> Any:
    tokens = draw(model)
    return last_alone(model) & ~near(model((tokens + 1) % model.vocab_size), model(tokens))


def one_row(model: Any) -> Any:
    model.eval()
    tokens = draw(model, 1)
    return near(decode(model, tokens, [1] * 8), model(tokens))


def in_training(model: Any) -> Any:
    tokens = draw(model)
    return near(decode(model, tokens, [1] * 8), model(tokens))


def fixed_words(model: Any) -> Any:
    model.eval()
    tokens = torch.arange(8)[None]
    return near(decode(model, tokens, [1] * 8), model(tokens))


def with_a_prompt(model: Any) -> Any:
    """The first step has several tokens, and no other step has."""
    model.eval()
    tokens = draw(model)
    whole, other = model(tokens), model(torch.cat([(tokens[:, :1] + 1) % model.vocab_size, tokens[:, 1:]], 1))
    alone = torch.cat([model(row[None]) for row in tokens])
    return near(decode(model, tokens, [5, 1, 1, 1]), whole) & near(alone, whole) & ~near(other[:, -1], whole[:, -1])


class Reader(nn.Module):
    """Right, unless a subclass changes a line."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)

    def average(self, found: Tensor, real: Tensor) -> Tensor:
        return (found * real[..., None]).sum(1) / real.sum(1)[:, None]

    def forward(self, X: Tensor, valid_lens: Tensor) -> Tensor:
        real = torch.arange(X.shape[1]) < valid_lens[:, None]
        found, _ = self.attention(X, X, X, key_padding_mask=~real, need_weights=False)
        return self.average(found, real)


class OneByOne(Reader):
    """Each example, cut to its length."""

    def forward(self, X: Tensor, valid_lens: Tensor) -> Tensor:
        cut = [x[None, :n] for x, n in zip(X, valid_lens.tolist(), strict=True)]
        return torch.cat([self.attention(x, x, x)[0].mean(1) for x in cut])


class Doubled(Reader):
    def average(self, found: Tensor, real: Tensor) -> Tensor:
        return 2 * super().average(found, real)


class FirstStep(Reader):
    """The gradient of the first token alone."""

    def forward(self, X: Tensor, valid_lens: Tensor) -> Tensor:
        return super().forward(torch.cat([X[:, :1], X[:, 1:].detach()], 1), valid_lens)


class Wider(Reader):
    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__(width, num_heads)
        self.out = nn.Linear(width, width)


RIGHT: dict[str, list[Any]] = {"test-decoder": [by_properties, by_assertions], "debug-reader": [Reader, OneByOne]}

WRONG: list[tuple[str, Any, str]] = [
    ("test-decoder", in_training, "model.eval()"),
    ("test-decoder", fixed_words, "model.vocab_size"),
    ("test-decoder", with_a_prompt, "gives all tokens of a step one position"),
    ("test-decoder", causal, "restarts its positions"),
    ("test-decoder", short, "forgets in decoding"),
    ("test-decoder", one_row, "cache of another row"),
    ("test-decoder", stepwise, "rows of a batch touch"),
    ("test-decoder", first_alone, "touch"),
    ("test-decoder", last_alone, "answers without reading"),
    ("test-decoder", reacts, "no token but the newest"),
    ("debug-reader", Doubled, "cut to its length"),
    ("debug-reader", FirstStep, "is a part of the way cut off"),
    ("debug-reader", Wider, "with biases, and no others"),
]
