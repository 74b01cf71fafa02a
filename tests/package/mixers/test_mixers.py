"""Sixteen mixers: token by token as all at once, beside formulas written out, and what each of them keeps."""

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

import d2lmini as d2l
from d2lmini import mixers
from d2lmini.mixers import count_state_bytes, make_mixers

WIDTH, HEADS, NUMBER = 16, 4, 8  # a number of float64 has 8 bytes
MIXERS = [*make_mixers(WIDTH)]


def make(name: str) -> mixers.Mixer:
    return make_mixers(WIDTH)[name]()


@pytest.fixture(autouse=True)
def _in_float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", MIXERS)
def test_it_works_where_its_input_is_whatever_the_default_device(name: str) -> None:
    mixer, X = make(name), torch.randn(1, 20, WIDTH)
    expected = mixer(X)
    with torch.device("meta"):
        _, state = mixer.extend(X[:, :19])
        assert_close(mixer.extend(X[:, 19:], state)[0], expected[:, 19:], atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", MIXERS)
def test_no_more_is_kept_than_is_counted(name: str) -> None:
    mixer, X = make(name), torch.randn(1, 100, WIDTH)
    with torch.no_grad():
        _, state = mixer.extend(X)
    alive = {part.untyped_storage().data_ptr(): part.untyped_storage().nbytes() for part in state or ()}
    positions = sum(part.nbytes for part in state or () if not part.is_floating_point())
    assert sum(alive.values()) == count_state_bytes(mixer, X) + positions


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_linear_attention_has_a_mean_however_negative_its_numbers(dtype: torch.dtype) -> None:
    """elu(x) + 1 is exp(x) for negative numbers, and rounded to 0 from -37 on in float64, from -17 on in float32."""
    layer = mixers.LinearAttention(WIDTH)
    layer.W_o = nn.Identity()  # type: ignore[assignment]
    with torch.no_grad():
        layer.W_qkv.weight.copy_(torch.cat([-torch.eye(WIDTH), 0 * torch.eye(WIDTH), torch.eye(WIDTH)]))
    layer = layer.to(dtype)
    for size in (18, 1000):
        X = torch.full((1, 3, WIDTH), float(size), dtype=dtype, requires_grad=True)
        assert_close(layer(X), X, rtol=4 * torch.finfo(dtype).eps, atol=0)
        assert torch.autograd.grad(layer(X).sum(), X)[0].isfinite().all()


def test_another_size_is_refused() -> None:
    for name in MIXERS:
        with pytest.raises(ValueError, match=r"X must .*got \(2, 3"):
            make(name)(torch.zeros(2, 3, WIDTH + 1))
    for d in (0, 6):  # four heads do not divide it
        with pytest.raises(ValueError, match=r"d must be .*got"):
            make_mixers(d)


# ---- beside formulas written out: one query after the other ----


def split_heads(X: Tensor, W: Tensor, parts: int) -> Tensor:
    """The projections of one example, `(parts, heads, n, p)`."""
    return (X[0] @ W.T).unflatten(1, (parts, -1, WIDTH // HEADS)).permute(1, 2, 0, 3)


def choose(places: range, seen: Callable[[int, int], bool]) -> Tensor:
    return torch.tensor([[seen(i, j) for j in places] for i in places])


def attend(layer: d2l.MultiHeadAttention, X: Tensor, K: Tensor, V: Tensor, seen: Tensor) -> Tensor:
    """PyTorch's attention, with each key and value repeated for the heads of its group."""
    Q = split_heads(X, layer.W_q.weight, 1)[0]
    K, V = (T.repeat_interleave(HEADS // len(T), dim=0) for T in (K, V))
    Y = F.scaled_dot_product_attention(Q[None], K[None], V[None], attn_mask=seen)[0]
    return Y.transpose(0, 1).flatten(1) @ layer.W_o.weight.T


MASKS: dict[str, Callable[[int, int], bool]] = {
    "multi-head attention": lambda i, j: j <= i,
    "multi-query attention": lambda i, j: j <= i,
    "grouped-query attention": lambda i, j: j <= i,
    "window": lambda i, j: i - 16 < j <= i,
    "window and sinks": lambda i, j: j <= i and (j > i - 16 or j < 4),
}


@pytest.mark.parametrize("name", MASKS)
def test_attention_is_that_of_pytorch_with_its_mask(name: str) -> None:
    mixer, X = make(name), torch.randn(1, 40, WIDTH)
    assert isinstance(mixer, mixers.Attention)
    K, V = (split_heads(X, W.weight, 1)[0] for W in (mixer.attention.W_k, mixer.attention.W_v))
    assert_close(mixer(X)[0], attend(mixer.attention, X, K, V, choose(range(40), MASKS[name])))


def test_latent_attention_is_attention_with_the_two_matrices_multiplied() -> None:
    mixer, X = make("latent attention"), torch.randn(1, 20, WIDTH)
    assert isinstance(mixer, mixers.LatentAttention)
    K, V = (split_heads(X, W.weight @ mixer.W_down.weight, 1)[0] for W in (mixer.attention.W_k, mixer.attention.W_v))
    assert_close(mixer(X)[0], attend(mixer.attention, X, K, V, choose(range(20), lambda i, j: j <= i)))


def test_top_k_attention_sees_the_best_keys_only() -> None:
    mixer, X = make("top-k attention"), torch.randn(1, 20, WIDTH)
    assert isinstance(mixer, mixers.Attention)
    layer = mixer.attention
    Q, K, V = (split_heads(X, W.weight, 1)[0] for W in (layer.W_q, layer.W_k, layer.W_v))
    scores = (Q[:, -1:] @ K.mT / math.sqrt(WIDTH // HEADS))[:, 0]  # of the last query, (heads, n)
    best = scores.topk(8).indices
    weights = scores.gather(1, best).softmax(dim=1)
    mixed = torch.stack([w @ v[some] for w, v, some in zip(weights, V, best, strict=True)])
    assert_close(mixer(X)[0, -1], mixed.flatten() @ layer.W_o.weight.T)


def test_of_equal_keys_top_k_attention_keeps_the_first() -> None:
    X = torch.ones(1, 32, WIDTH)
    weights = mixers.Attention(WIDTH, top=8).attention(X, X, X, need_weights=True)[1][0, :, -1]  # (heads, n)
    assert_close(weights, (torch.arange(32) < 8).expand(HEADS, 32) / 8)


def test_linear_attention_has_weights_that_add_up_to_one() -> None:
    mixer, X = make("linear attention"), torch.randn(1, 40, WIDTH)
    assert isinstance(mixer, mixers.LinearAttention)
    Q, K, V = split_heads(X, mixer.W_qkv.weight, 3)
    A = ((F.elu(Q) + 1) @ (F.elu(K) + 1).mT).tril()
    A = A / A.sum(dim=2, keepdim=True)
    assert_close(mixer(X)[0], (A @ V).transpose(0, 1).flatten(1) @ mixer.W_o.weight.T)


def test_the_gated_delta_rule_is_its_formula_with_matrices() -> None:
    mixer, X = make("gated delta rule"), torch.randn(1, 12, WIDTH)
    assert isinstance(mixer, mixers.GatedDelta)
    Q, K, V = split_heads(X, mixer.W_qkv.weight, 3)
    gates, betas = mixer.gates(X[0]).sigmoid().unflatten(1, (2, HEADS)).permute(1, 2, 0)  # (heads, n)
    p, outputs = WIDTH // HEADS, []
    for head in range(HEADS):
        S = torch.zeros(p, p)
        for i in range(12):
            q, k = (x / (x @ x + 1e-6).sqrt() for x in (Q[head, i], K[head, i]))
            a, b = gates[head, i], betas[head, i]
            S = (torch.eye(p) - b * torch.outer(k, k)) @ (a * S) + b * torch.outer(k, V[head, i])
            outputs.append(S.T @ q)
    Y = torch.stack(outputs).unflatten(0, (HEADS, 12)).transpose(0, 1).flatten(1)
    assert_close(mixer(X)[0], Y @ mixer.W_o.weight.T)


def test_the_state_space_model_is_its_recurrence() -> None:
    mixer, X = make("state-space model"), torch.randn(1, 13, WIDTH)
    assert isinstance(mixer, mixers.StateSpace)
    a, z, outputs = (-mixer.log_rates.exp()).exp(), torch.zeros(WIDTH, 8), []
    for x in X[0]:
        z = a * z + mixer.b * x[:, None]
        outputs.append((mixer.c * z).sum(dim=1))
    assert_close(mixer(X)[0], torch.stack(outputs) @ mixer.W_o.weight.T)


def test_convolutions_are_those_of_pytorch() -> None:
    X = torch.randn(1, 30, WIDTH)
    for name in ("convolution", "separable convolution", "dilated convolutions"):
        mixer = make(name)
        assert isinstance(mixer, mixers.Convolutions)
        Y = X.mT
        for i, conv in enumerate(mixer.convs):
            assert isinstance(conv, nn.Conv1d)
            span = conv.dilation[0] * (conv.kernel_size[0] - 1)
            Y = conv(F.pad(Y.relu() if i else Y, (span, 0)))
        assert_close(mixer(X), mixer.mix(Y.mT))


# ---- what is kept, and what it costs ----

p, d = WIDTH // HEADS, WIDTH
# Numbers that are kept of n tokens, and FLOPs of n tokens at once.
FORMULAS: dict[str, tuple[Callable[[int], int], Callable[[int], int]]] = {
    "convolution": (lambda n: 3 * d, lambda n: 8 * n * d**2),
    "separable convolution": (lambda n: 3 * d, lambda n: 8 * n * d + 2 * n * d**2),
    "dilated convolutions": (lambda n: 31 * d, lambda n: 20 * n * d**2),
    "RNN": (lambda n: d, lambda n: 4 * n * d**2),
    "GRU": (lambda n: d, lambda n: 12 * n * d**2),
    "LSTM": (lambda n: 2 * d, lambda n: 16 * n * d**2),
    "multi-head attention": (lambda n: 2 * n * d, lambda n: 8 * n * d**2 + 4 * n**2 * d),
    "multi-query attention": (lambda n: 2 * n * p, lambda n: 4 * n * d**2 + 4 * n * d * p + 4 * n**2 * d),
    "grouped-query attention": (lambda n: 4 * n * p, lambda n: 4 * n * d**2 + 8 * n * d * p + 4 * n**2 * d),
    "latent attention": (lambda n: n * d // 2, lambda n: 7 * n * d**2 + 4 * n**2 * d),
    "window": (lambda n: 2 * 15 * d, lambda n: 8 * n * d**2 + 4 * n**2 * d),
    "window and sinks": (lambda n: 2 * 19 * d, lambda n: 8 * n * d**2 + 4 * n**2 * d),
    "top-k attention": (lambda n: 2 * n * d, lambda n: 8 * n * d**2 + 4 * n**2 * d),
    "linear attention": (
        lambda n: d * p + d,
        lambda n: 8 * n * d**2 + 4 * n * d * p + 2 * n * d + 4 * d * (n // 16 * 16**2 + (n % 16) ** 2),  # in chunks
    ),
    "gated delta rule": (lambda n: d * p, lambda n: 8 * n * d**2 + 4 * n * d * HEADS + 4 * n * d * p),
    "state-space model": (lambda n: 8 * d, lambda n: 2 * n * d**2),
}


@pytest.mark.parametrize("name", MIXERS)
@pytest.mark.parametrize("n", [24, 40, 64])
def test_what_is_kept_and_the_flops_are_those_of_the_formulas(name: str, n: int) -> None:
    kept, flops = FORMULAS[name]
    mixer, X = make(name), torch.randn(1, n, WIDTH)
    assert count_state_bytes(mixer, X) == NUMBER * kept(n)
    assert d2l.count_flops(mixer, X) == flops(n)
