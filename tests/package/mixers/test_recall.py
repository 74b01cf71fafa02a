"""Associative recall: the texts, and models of which it is known what they find."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.mixers import Attention, Convolutions, draw_pairs, make_mixers, measure_recall, train_recall


def test_a_text_asks_for_one_of_its_pairs() -> None:
    keys, values, answers = draw_pairs(16, batch=50)
    assert keys.shape == values.shape == (50, 17) and answers.shape == (50,)
    assert (values[:, -1] == 16).all() and values[:, :-1].max() < 16 and keys.max() < 64
    for k, v, answer in zip(keys.tolist(), values.tolist(), answers.tolist(), strict=True):
        assert len(set(k[:-1])) == 16
        assert v[k.index(k[-1])] == answer


class Finder(nn.Module):
    """Finds the key that is asked among the last `seen` pairs, and guesses 0 if it is not there."""

    def __init__(self, seen: int) -> None:
        super().__init__()
        self.seen = seen

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        found = (keys[:, :-1] == keys[:, -1:]) & (torch.arange(keys.shape[1] - 1) >= keys.shape[1] - 1 - self.seen)
        answers = torch.where(found, values[:, :-1], 0).sum(dim=1)
        return F.one_hot(answers, 16)


def test_recall_is_what_counting_says() -> None:
    before = torch.get_rng_state()
    assert measure_recall(Finder(64), 64) == 1
    assert measure_recall(Finder(16), 32) == pytest.approx(0.5 + 0.5 / 16, abs=0.04)
    assert torch.equal(torch.get_rng_state(), before)


def test_attention_learns_it_and_a_convolution_does_not() -> None:
    assert measure_recall(train_recall(lambda: Attention(32, num_kv_heads=1), 32)) >= 0.95
    assert measure_recall(train_recall(lambda: Convolutions(32, 4), 32)) <= 0.25


@pytest.mark.parametrize("pairs", [0, 65, 2.0])
def test_more_pairs_than_keys_are_refused(pairs: int) -> None:
    with pytest.raises(ValueError, match="pairs must be"):
        draw_pairs(pairs)


@pytest.mark.thorough
@pytest.mark.parametrize("name", make_mixers(32))
def test_a_layer_of_the_chapter_learns_at_the_better_of_two_rates(name: str) -> None:
    """*What is kept* trains linear attention at 0.03 and the others at 0.01, each for 300 steps."""
    low, high = (
        sum(measure_recall(train_recall(make_mixers(32)[name], 32, seed=seed, lr=lr)) for seed in range(3)) / 3
        for lr in (0.01, 0.03)
    )
    assert high > low if name == "linear attention" else high < low + 0.02
