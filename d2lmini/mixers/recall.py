"""Associative recall: how much a mixer finds again of what it has read.

A text consists of pairs, each one token, with a key (one of 64, none twice) and a value (one of 16). After the last
pair comes one of the keys again, and its value is asked for.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.checks import check_number, check_size
from d2lmini.mixers.mixer import Mixer
from d2lmini.train import train

__all__ = ["NUM_KEYS", "NUM_VALUES", "Recall", "draw_pairs", "measure_recall", "train_recall"]

NUM_KEYS, NUM_VALUES = 64, 16


def draw_pairs(pairs: int = 16, batch: int = 64) -> tuple[Tensor, Tensor, Tensor]:
    """Draw texts: keys and values, each `(batch, pairs + 1)`, and the values that are asked for, `(batch,)`.

    The last key is one of those before it. Beside it stands no value, which is written as 16.

    Chapter: What is kept.

    Raises:
        ValueError: if there are fewer than 1 or more than 64 pairs, or no text.

    >>> keys, values, answers = draw_pairs(pairs=4, batch=2)
    >>> keys.shape
    torch.Size([2, 5])
    """
    check_size("pairs", pairs)
    check_number("pairs", pairs, 1, NUM_KEYS)
    check_size("batch", batch)
    keys = torch.rand(batch, NUM_KEYS).argsort(dim=1)[:, :pairs]
    values = torch.randint(NUM_VALUES, (batch, pairs))
    asked = torch.randint(pairs, (batch, 1))
    nothing = torch.full((batch, 1), NUM_VALUES)
    return (
        torch.cat([keys, keys.gather(1, asked)], dim=1),
        torch.cat([values, nothing], dim=1),
        values.gather(1, asked)[:, 0],
    )


class Recall(nn.Module):
    """A mixer of width d between embeddings of keys and values, which are added, and logits of the value asked for.

    Chapter: What is kept.
    """

    def __init__(self, mixer: Mixer, d: int) -> None:
        super().__init__()
        self.key, self.value = nn.Embedding(NUM_KEYS, d), nn.Embedding(NUM_VALUES + 1, d)
        self.mixer, self.norm, self.read_out = mixer, nn.LayerNorm(d), nn.Linear(d, NUM_VALUES)

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        """The logits after the last token, `(batch, 16)`, for keys and values `(batch, n)`."""
        Y = self.mixer(self.key(keys) + self.value(values))  # (batch, n, d)
        return self.read_out(self.norm(Y[:, -1]))


def train_recall(
    make_mixer: Callable[[], Mixer], d: int, *, seed: int = 0, steps: int = 300, lr: float = 1e-2
) -> Recall:
    """Train a model around a mixer of width d on texts of 16 pairs, at a rate that falls from lr to 0.

    Chapter: What is kept.

    >>> model = train_recall(lambda: make_mixers(8)["GRU"](), 8, steps=1)
    """

    def loss(model: nn.Module, keys: Tensor, values: Tensor, answers: Tensor) -> Tensor:
        return F.cross_entropy(model(keys, values), answers)

    model = train(lambda: Recall(make_mixer(), d), draw_pairs, loss, seed=seed, steps=steps, lr=lr).model
    assert isinstance(model, Recall)
    return model


def measure_recall(model: nn.Module, pairs: int = 16) -> float:
    """The share of right answers in a thousand texts, always the same ones, of so many pairs.

    Chapter: What is kept.

    >>> 0 <= measure_recall(Recall(make_mixers(8)["GRU"](), 8)) <= 1
    True
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1000)
        keys, values, answers = draw_pairs(pairs, batch=1000)
        logits = torch.cat([model(*some) for some in zip(keys.split(100), values.split(100), strict=True)])
    return (logits.argmax(dim=1) == answers).double().mean().item()
